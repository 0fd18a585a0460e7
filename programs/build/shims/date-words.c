/*
 * Dates as GNU date, touch and find read them: "yesterday", "next monday", "2024-01-31 +1 month", "Jan 5 2024 10:30 UTC".
 * Items come in any order; each may come once, except relative ones, which add up.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, UNITS };

struct date {
  int dates, times, days, zones, relatives, has_year;
  long year, month, day, hour, minute, second, nano, weekday, ordinal, zone;
  long long relative[UNITS], last_amount;
  int last_unit;
};

#define MAX_AMOUNT 1000000000L

static const char *const UNIT_NAMES[] = {"year", "month", "day", "hour", "minute", "second", "min", "sec", "week", "fortnight"};
static const int UNIT_KINDS[] = {YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MINUTE, SECOND, DAY, DAY};
static const int UNIT_SIZES[] = {1, 1, 1, 1, 1, 1, 1, 1, 7, 14};
static const char *const MONTHS[] = {"january", "february", "march", "april", "may", "june", "july", "august", "september",
  "october", "november", "december"};
static const char *const DAYS[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
static const char *const ORDINALS[] = {"last", "this", "next", "first", "", "third", "fourth", "fifth", "sixth", "seventh",
  "eighth", "ninth", "tenth", "eleventh", "twelfth"};
static const int ORDINAL_VALUES[] = {-1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const char *const ZONES[] = {"utc", "gmt", "ut", "z", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "cet",
  "cest", "bst", "jst"};
static const int ZONE_HOURS[] = {0, 0, 0, 0, -5, -4, -6, -5, -7, -6, -8, -7, 1, 2, 1, 9};

#define COUNT(list) ((int)(sizeof(list) / sizeof(*list)))

static int find(const char *word, const char *const *names, int count)
{
  for (int i = 0; i < count; i++) if (*names[i] && !strcmp(word, names[i])) return i;
  return -1;
}

/* A name, or its first three letters. */
static int find_short(const char *word, const char *const *names, int count)
{
  size_t length = strlen(word);
  if (!strcmp(word, "sept")) length = 3;
  for (int i = 0; i < count; i++)
    if (!strcmp(word, names[i]) || (length == 3 && !strncmp(word, names[i], 3))) return i;
  return -1;
}

static int find_unit(char *word)
{
  size_t length = strlen(word);
  int unit = find(word, UNIT_NAMES, COUNT(UNIT_NAMES));
  if (unit < 0 && length > 1 && word[length - 1] == 's') {
    word[length - 1] = 0;
    unit = find(word, UNIT_NAMES, COUNT(UNIT_NAMES));
    word[length - 1] = 's';
  }
  return unit;
}

static void skip(const char **text)
{
  while (isspace((unsigned char)**text) || **text == ',') ++*text;
}

/* Reads lower-case letters and dots into `word`, without the dots. */
static void read_word(const char **text, char *word, int size)
{
  int length = 0;
  for (; isalpha((unsigned char)**text) || (**text == '.' && length); ++*text)
    if (**text != '.' && length < size - 1) word[length++] = tolower((unsigned char)**text);
  word[length] = 0;
}

static long read_number(const char **text, int *digits)
{
  long value = 0;
  for (*digits = 0; isdigit((unsigned char)**text); ++*text, ++*digits)
    if (value < MAX_AMOUNT) value = value * 10 + (**text - '0');
  return value;
}

static void add(struct date *date, int unit, long amount)
{
  date->last_unit = UNIT_KINDS[unit];
  date->last_amount = (long long)amount * UNIT_SIZES[unit];
  date->relative[date->last_unit] += date->last_amount;
  date->relatives++;
}

static int set_date(struct date *date, long year, long month, long day)
{
  date->dates++;
  date->has_year = 1;
  date->year = year;
  date->month = month;
  date->day = day;
  return 1;
}

static long full_year(long year, int digits)
{
  return digits == 2 ? year + (year < 69 ? 2000 : 1900) : year;
}

/* The text after the sign of an offset: hours, hours and minutes, or both with a colon. */
static int read_zone(struct date *date, const char **text, int sign)
{
  int digits;
  long value = read_number(text, &digits), minutes = 0;
  if (!digits) return 0;
  if (**text == ':') {
    int more;
    ++*text;
    minutes = read_number(text, &more);
    if (!more) return 0;
  } else if (digits > 2) {
    minutes = value % 100;
    value /= 100;
  }
  if (value > 24 || minutes > 59) return 0;
  date->zones++;
  date->zone += sign * (value * 60 + minutes) * 60;
  return 1;
}

/* An optional AM or PM. Returns 0 if the hour does not allow it. */
static int read_meridian(struct date *date, const char **text)
{
  const char *at = *text;
  char word[8];
  while (isspace((unsigned char)*at)) at++;
  read_word(&at, word, sizeof(word));
  if (strcmp(word, "am") && strcmp(word, "pm")) return 1;
  if (date->hour < 1 || date->hour > 12) return 0;
  date->hour = date->hour % 12 + (*word == 'p' ? 12 : 0);
  *text = at;
  return 1;
}

/* The rest of a time, after the hour and a colon. */
static int read_time(struct date *date, const char **text, long hour)
{
  int digits;
  date->times++;
  date->hour = hour;
  ++*text;
  date->minute = read_number(text, &digits);
  if (!digits) return 0;
  date->second = date->nano = 0;
  if (**text == ':') {
    ++*text;
    date->second = read_number(text, &digits);
    if (!digits) return 0;
    if ((**text == '.' || **text == ',') && isdigit((unsigned char)(*text)[1])) {
      long unit = 100000000;
      for (++*text; isdigit((unsigned char)**text); ++*text, unit /= 10) date->nano += (**text - '0') * unit;
    }
  }
  if (!read_meridian(date, text)) return 0;
  const char *at = *text;
  while (isspace((unsigned char)*at)) at++;
  if (*at == '+' || *at == '-') {
    int sign = *at == '-' ? -1 : 1;
    *text = at + 1;
    skip(text);
    return read_zone(date, text, sign);
  }
  return 1;
}

/* A date in digits: the year, the month or the day has been read, and a separator follows. */
static int read_date(struct date *date, const char **text, long first, int digits)
{
  char separator = *(*text)++, word[16];
  int more, last_digits;
  long month, last;
  if (isalpha((unsigned char)**text)) {
    read_word(text, word, sizeof(word));
    month = find_short(word, MONTHS, COUNT(MONTHS)) + 1;
    if (!month || **text != separator) return 0;
    ++*text;
    last = read_number(text, &last_digits);
    return last_digits && set_date(date, full_year(last, last_digits), month, first);
  }
  month = read_number(text, &more);
  if (!more) return 0;
  if (**text != separator) {
    if (separator != '/' || digits > 2) return 0;
    date->dates++;
    date->month = first;
    date->day = month;
    return 1;
  }
  ++*text;
  last = read_number(text, &last_digits);
  if (!last_digits) return 0;
  if (separator == '-' || digits > 2) return set_date(date, full_year(first, digits), month, last);
  return set_date(date, full_year(last, last_digits), first, month);
}

/* A number without a sign or a separator. */
static int use_number(struct date *date, const char **text, long value, int digits)
{
  const char *at = *text;
  char word[16];
  while (isspace((unsigned char)*at)) at++;
  read_word(&at, word, sizeof(word));
  int unit = find_unit(word), month = find_short(word, MONTHS, COUNT(MONTHS));
  if (unit >= 0) {
    add(date, unit, value);
    *text = at;
    return 1;
  }
  if (month >= 0) {
    date->dates++;
    date->month = month + 1;
    date->day = value;
    *text = at;
    while (isspace((unsigned char)*at)) at++;
    long year = read_number(&at, &digits);
    if (digits > 1 && *at != ':' && !isalpha((unsigned char)*at)) {
      set_date(date, full_year(year, digits), month + 1, value);
      date->dates--;
      *text = at;
    }
    return 1;
  }
  if (!strcmp(word, "am") || !strcmp(word, "pm")) {
    date->times++;
    date->hour = value;
    date->minute = date->second = date->nano = 0;
    return read_meridian(date, text);
  }
  if (date->dates && !date->has_year && !date->relatives && (date->times || digits > 2)) {
    date->has_year = 1;
    date->year = full_year(value, digits);
    return 1;
  }
  if (digits > 4) return digits <= 8 && set_date(date, full_year(value / 10000, digits - 4), value / 100 % 100, value % 100);
  date->times++;
  date->hour = digits <= 2 ? value : value / 100;
  date->minute = digits <= 2 ? 0 : value % 100;
  date->second = date->nano = 0;
  return 1;
}

static int read_amount(struct date *date, const char **text)
{
  int sign = **text == '-' ? -1 : 1, digits;
  char word[16];
  ++*text;
  skip(text);
  long value = read_number(text, &digits);
  skip(text);
  read_word(text, word, sizeof(word));
  int unit = find_unit(word);
  if (!digits || unit < 0) return 0;
  add(date, unit, sign * value);
  return 1;
}

/* The word after an ordinal such as "next". */
static int use_ordinal(struct date *date, const char **text, int ordinal)
{
  char word[16];
  skip(text);
  read_word(text, word, sizeof(word));
  int unit = find_unit(word), weekday = find_short(word, DAYS, COUNT(DAYS));
  if (unit >= 0) add(date, unit, ordinal);
  else if (weekday >= 0) {
    date->days++;
    date->weekday = weekday;
    date->ordinal = ordinal;
  } else return 0;
  return 1;
}

static int use_word(struct date *date, const char **text, char *word)
{
  int i;
  if (!strcmp(word, "t") && date->dates && isdigit((unsigned char)**text)) return 1;
  if (!strcmp(word, "now") || !strcmp(word, "today")) return date->relatives++, 1;
  if (!strcmp(word, "yesterday")) return add(date, DAY, -1), 1;
  if (!strcmp(word, "tomorrow")) return add(date, DAY, 1), 1;
  if (!strcmp(word, "ago") && date->relatives) {
    date->relative[date->last_unit] -= 2 * date->last_amount;
    return 1;
  }
  if ((i = find(word, ORDINALS, COUNT(ORDINALS))) >= 0) return use_ordinal(date, text, ORDINAL_VALUES[i]);
  if ((i = find_unit(word)) >= 0) return add(date, i, 1), 1;
  if ((i = find_short(word, DAYS, COUNT(DAYS))) >= 0) {
    date->days++;
    date->weekday = i;
    return 1;
  }
  if ((i = find(word, ZONES, COUNT(ZONES))) >= 0) {
    date->zones++;
    date->zone = ZONE_HOURS[i] * 3600;
    if (i < 3 && (**text == '+' || **text == '-')) {
      int sign = *(*text)++ == '-' ? -1 : 1;
      date->zones--;
      return read_zone(date, text, sign);
    }
    return 1;
  }
  if ((i = find_short(word, MONTHS, COUNT(MONTHS))) >= 0) {
    int digits;
    skip(text);
    date->dates++;
    date->month = i + 1;
    date->day = read_number(text, &digits);
    return digits && digits <= 2 && **text != ':';
  }
  return 0;
}

static int read_items(struct date *date, const char *text)
{
  char word[16];
  int digits;
  for (skip(&text); *text; skip(&text)) {
    if (isdigit((unsigned char)*text)) {
      long value = read_number(&text, &digits);
      if (*text == ':' ? !read_time(date, &text, value)
          : (*text == '-' || *text == '/') && isalnum((unsigned char)text[1]) ? !read_date(date, &text, value, digits)
          : !use_number(date, &text, value, digits)) return 0;
    } else if (*text == '+' || *text == '-') {
      if (!read_amount(date, &text)) return 0;
    } else if (isalpha((unsigned char)*text)) {
      read_word(&text, word, sizeof(word));
      if (!use_word(date, &text, word)) return 0;
    } else return 0;
  }
  return date->dates <= 1 && date->times <= 1 && date->days <= 1 && date->zones <= 1;
}

static int is_valid(const struct date *date)
{
  static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  long year = date->year;
  int is_leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
  if (date->month < 1 || date->month > 12 || date->day < 1 || date->day > days[date->month - 1]) return 0;
  if (date->month == 2 && date->day == 29 && !is_leap) return 0;
  return date->hour < 24 && date->minute < 60 && date->second <= 60 && year < 1000000;
}

static time_t to_time(struct tm *tm, const struct date *date)
{
  return date->zones ? timegm(tm) - date->zone : mktime(tm);
}

/* Reads a date into `time_out` and `nano`. Returns 0 if it is not one, and -1 if there is no such day or time. */
int parse_date_words(const char *text, time_t *time_out, unsigned *nano)
{
  struct timespec now;
  struct tm tm;
  struct date date = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  localtime_r(&now.tv_sec, &tm);
  date.year = tm.tm_year + 1900;
  date.month = tm.tm_mon + 1;
  date.day = tm.tm_mday;
  date.hour = tm.tm_hour;
  date.minute = tm.tm_min;
  date.second = tm.tm_sec;
  date.nano = now.tv_nsec;
  int is_dst = tm.tm_isdst;
  if (!read_items(&date, text)) return 0;
  if (!is_valid(&date)) return -1;
  if (date.zones && !date.dates && !date.days) {
    /* Today is that of the zone. */
    time_t there = now.tv_sec + date.zone;
    gmtime_r(&there, &tm);
    date.year = tm.tm_year + 1900;
    date.month = tm.tm_mon + 1;
    date.day = tm.tm_mday;
    if (!date.times) {
      date.hour = tm.tm_hour;
      date.minute = tm.tm_min;
    }
  }
  int keeps_time = date.times || (date.relatives && !date.dates && !date.days);
  if (!keeps_time) date.hour = date.minute = date.second = date.nano = 0;
  int is_absolute = date.dates || date.times || date.days;
  tm = (struct tm){.tm_year = date.year - 1900, .tm_mon = date.month - 1, .tm_mday = date.day, .tm_hour = date.hour,
    .tm_min = date.minute, .tm_sec = date.second, .tm_isdst = is_absolute ? -1 : is_dst};
  time_t start = to_time(&tm, &date);
  /* Clocks may skip this time. */
  if (tm.tm_min != date.minute || tm.tm_hour != date.hour) return -1;
  if (date.days && !date.dates) {
    int ahead = (date.weekday - tm.tm_wday + 7) % 7;
    tm.tm_mday += ahead + 7 * (date.ordinal - (date.ordinal > 0 && ahead));
    tm.tm_isdst = -1;
    start = to_time(&tm, &date);
  }
  if (date.relative[YEAR] || date.relative[MONTH] || date.relative[DAY]) {
    tm.tm_year += date.relative[YEAR];
    tm.tm_mon += date.relative[MONTH];
    tm.tm_mday += date.relative[DAY];
    tm.tm_hour = date.hour;
    tm.tm_min = date.minute;
    tm.tm_sec = date.second;
    tm.tm_isdst = is_absolute ? -1 : is_dst;
    start = to_time(&tm, &date);
  }
  *time_out = start + date.relative[HOUR] * 3600 + date.relative[MINUTE] * 60 + date.relative[SECOND];
  *nano = date.nano;
  return 1;
}
