// program: numbers with toLocaleString
console.log((1234567.891).toLocaleString(), (0).toLocaleString(), (-0.5).toLocaleString(), (1e6).toLocaleString('en-US'));
console.log((1234.5).toLocaleString('de-DE'), (1234.5).toLocaleString('fr-FR'), (12345.678).toLocaleString('es-ES'), (1234567.8).toLocaleString('pt-BR'));
console.log((0.256).toLocaleString('en-US', { style: 'percent' }), (0.256).toLocaleString('de-DE', { style: 'percent', maximumFractionDigits: 1 }));
console.log((1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }), (1234.5).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' }), (1234.5).toLocaleString('ja-JP', { style: 'currency', currency: 'JPY' }));
console.log(123456789012345678901234567890n.toLocaleString('en-US'), [1234.5, 2].toLocaleString('de-DE'), NaN.toLocaleString(), Infinity.toLocaleString('en-US'));

// program: number formats
const format = (locale, options, value = 1234567.891) => new Intl.NumberFormat(locale, options).format(value);
for (const locale of ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'ja-JP', 'zh-CN', 'en-IN', 'en-GB']) {
  console.log(locale, format(locale), format(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }), format(locale, { maximumSignificantDigits: 3 }));
  console.log(format(locale, { notation: 'compact' }), '|', format(locale, { notation: 'compact', compactDisplay: 'long' }), '|', format(locale, { notation: 'scientific' }));
  console.log(format(locale, { style: 'currency', currency: 'USD' }), '|', format(locale, { style: 'currency', currency: 'EUR', currencyDisplay: 'name' }, 2));
  console.log(format(locale, { style: 'unit', unit: 'kilometer-per-hour' }, 50), '|', format(locale, { style: 'unit', unit: 'liter', unitDisplay: 'long' }, 1), '|', format(locale, { signDisplay: 'always' }, 5));
}

// program: parts and options of number formats
const usd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
console.log(usd.formatToParts(-1234.5).map(({ type, value }) => `${type}:${value}`).join(' '));
console.log(new Intl.NumberFormat('de-DE', { minimumIntegerDigits: 2 }).formatToParts(5).map(({ type }) => type));
console.log([3, 1.005, 2.5, 1e-7].map((n) => new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 }).format(n)));
console.log([1, 22, 333].map(new Intl.NumberFormat('en-US', { minimumIntegerDigits: 3 }).format));
try { new Intl.NumberFormat('en-US', { style: 'currency' }); } catch (error) { console.log(error.name); }
try { new Intl.NumberFormat('en-US', { maximumFractionDigits: 200 }); } catch (error) { console.log(error.name); }

// program: dates with toLocaleString
const date = new Date(Date.UTC(2024, 0, 5, 9, 7, 3));
const options = { timeZone: 'UTC' };
for (const locale of ['en-US', 'en-GB', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'ja-JP', 'zh-CN']) {
  console.log(locale, date.toLocaleString(locale, options), '|', date.toLocaleDateString(locale, options), '|', date.toLocaleTimeString(locale, options));
}
console.log(new Date(NaN).toLocaleString(), new Date(NaN).toLocaleDateString('de-DE'));

// program: date styles
const moment = Date.UTC(2023, 6, 14, 22, 30, 5);
for (const locale of ['en-US', 'en-GB', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'ja-JP', 'zh-CN']) {
  for (const style of ['full', 'long', 'medium', 'short']) {
    const show = (options) => new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(moment);
    console.log(locale, style, show({ dateStyle: style }), '|', show({ timeStyle: style }), '|', show({ dateStyle: style, timeStyle: 'short' }));
  }
}

// program: fields of dates
const at = new Date(Date.UTC(2024, 2, 9, 15, 4, 5, 678));
const choices = [{ weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, { month: 'short', day: 'numeric' }, { year: 'numeric', month: '2-digit', day: '2-digit' }, { month: 'long', year: 'numeric' }, { weekday: 'short' }, { hour: '2-digit', minute: '2-digit' }, { hour: 'numeric', minute: '2-digit', hour12: true }, { hour: 'numeric', hour12: false }, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }, { year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' }, { year: '2-digit', month: 'numeric' }, { era: 'short', year: 'numeric' }];
for (const locale of ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'ja-JP', 'zh-CN']) for (const fields of choices) console.log(locale, at.toLocaleString(locale, { timeZone: 'UTC', ...fields }));

// program: time zones
const zones = ['UTC', 'America/New_York', 'America/Los_Angeles', 'Europe/Berlin', 'Europe/London', 'Asia/Tokyo', 'Asia/Kolkata', 'Australia/Sydney', 'America/Sao_Paulo', 'US/Eastern'];
for (const timeZone of zones) {
  for (const time of [Date.UTC(2024, 0, 15, 12), Date.UTC(2024, 6, 15, 12), Date.UTC(2024, 2, 10, 7, 30), Date.UTC(2045, 6, 1), Date.UTC(1985, 4, 1)]) {
    console.log(timeZone, new Date(time).toLocaleString('en-US', { timeZone, timeZoneName: 'short' }), new Intl.DateTimeFormat('de-DE', { timeZone, dateStyle: 'short', timeStyle: 'long' }).format(time));
  }
}
try { new Intl.DateTimeFormat('en', { timeZone: 'Mars/Base' }); } catch (error) { console.log(error.name); }

// program: parts of a date
const formatter = new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const parts = Object.fromEntries(formatter.formatToParts(Date.UTC(2024, 11, 31, 23, 30)).map(({ type, value }) => [type, value]));
console.log(`${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}`);
console.log([0, 86400000].map(new Intl.DateTimeFormat('en-US', { timeZone: 'UTC' }).format));
const resolved = new Intl.DateTimeFormat('de-DE', { timeZone: 'Europe/Berlin', hour: 'numeric' }).resolvedOptions();
console.log(resolved.locale, resolved.timeZone, resolved.hourCycle, resolved.calendar, resolved.hour12);

// program: sorting with localeCompare
const words = ['éclair', 'Zebra', 'apple', 'Äpfel', 'eclair', 'zoo', 'Apple', 'ähnlich', 'b', 'B', 'a', '10', '9', '_x', '-y', 'résumé', 'resume', 'Résumé'];
console.log([...words].sort((a, b) => a.localeCompare(b)));
console.log([...words].sort((a, b) => a.localeCompare(b, 'de-DE')), [...words].sort(new Intl.Collator('fr-FR').compare));
console.log(['a10', 'a9', 'a1', 'b2'].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })));
console.log('a'.localeCompare('A', 'en', { sensitivity: 'base' }), 'a'.localeCompare('á', 'en', { sensitivity: 'base' }), 'a'.localeCompare('á', 'en', { sensitivity: 'accent' }), 'a'.localeCompare('A'), 'A'.localeCompare('a'), 'a'.localeCompare('a'));
console.log(['nu', 'ñu', 'oso', 'nz'].sort(new Intl.Collator('es').compare), ['straße', 'strasse', 'Strasse'].sort(new Intl.Collator('de').compare));
console.log(['a', 'B', 'A', 'b'].sort(new Intl.Collator('en', { caseFirst: 'upper' }).compare));

// program: sorting Chinese and Japanese
console.log(['上海', '北京', '广州', '深圳', 'abc', '1'].sort(new Intl.Collator('zh-CN').compare));
console.log(['東京', '大阪', 'あさひ', 'アイス', '京都', 'abc', '1'].sort(new Intl.Collator('ja-JP').compare));
console.log(['中', 'я', 'β', 'z', 'あ', '!', '7'].sort((a, b) => a.localeCompare(b)));

// program: plural rules
for (const locale of ['en', 'de', 'fr', 'es', 'it', 'pt', 'ja', 'zh']) {
  console.log(locale, [0, 1, 2, 5, 1.5].map((n) => new Intl.PluralRules(locale).select(n)).join(), [1, 2, 3, 4, 11, 22].map((n) => new Intl.PluralRules(locale, { type: 'ordinal' }).select(n)).join());
}
const suffix = { one: 'st', two: 'nd', few: 'rd', other: 'th' };
console.log([1, 2, 3, 4, 11, 12, 13, 21, 22].map((n) => `${n}${suffix[new Intl.PluralRules('en-US', { type: 'ordinal' }).select(n)]}`).join(' '));

// program: relative times
for (const locale of ['en', 'de', 'fr', 'es', 'it', 'pt', 'ja', 'zh']) {
  const auto = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const short = new Intl.RelativeTimeFormat(locale, { style: 'short' });
  console.log(locale, auto.format(-1, 'day'), '|', auto.format(1, 'day'), '|', auto.format(0, 'year'), '|', auto.format(-3, 'month'), '|', short.format(2, 'hours'), '|', short.format(-1, 'week'));
}

// program: lists
for (const locale of ['en', 'en-GB', 'de', 'fr', 'es', 'it', 'pt', 'ja', 'zh']) {
  const show = (type, style) => new Intl.ListFormat(locale, { type, style }).format(['A', 'B', 'C']);
  console.log(locale, show('conjunction', 'long'), '|', show('disjunction', 'long'), '|', show('unit', 'narrow'), '|', new Intl.ListFormat(locale).format(['A', 'B']));
}
console.log(new Intl.ListFormat('en').formatToParts(['x', 'y']).map(({ type }) => type));

// program: locales and case
console.log(Intl.getCanonicalLocales(['EN-us', 'zh-hans-cn', 'en-US']), new Intl.Locale('de-Latn-DE').language, new Intl.Locale('pt-br').region, String(new Intl.Locale('ja-jp')));
console.log('straße'.toLocaleUpperCase('de-DE'), 'ÀÉ'.toLocaleLowerCase('fr'), 'abc'.toLocaleUpperCase());
console.log(typeof Intl, Object.prototype.toString.call(Intl), Intl.NumberFormat.supportedLocalesOf(['de-DE', 'en']), new Intl.NumberFormat('de').resolvedOptions().locale);
try { 'a'.toLocaleUpperCase('not a tag'); } catch (error) { console.log(error.name); }
try { (1).toLocaleString('x'); } catch (error) { console.log(error.name); }
