/*
 * The functions of SQLite that guest/node/sqlite.js calls. They check everything that memory safety depends on: a program
 * can reach them only through that module, but can run any code in the functions, authorizers and getters that it defines.
 * Nothing of a connection is released while one of its callbacks runs.
 */
#include "node-sqlite.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name), visibility("default"))) name

int host_interrupt(void) __attribute__((import_module("env"), import_name("host_interrupt")));

/* Instructions of SQLite between two checks for an interrupt. */
enum { PROGRESS_STEPS = 20000, MAX_CALL_ARGUMENTS = 1001 };
enum { READ_BIGINTS = 1, RETURN_ARRAYS = 2 };
#define MAX_SAFE_INTEGER 9007199254740991LL

typedef struct Database Database;

typedef struct Statement {
  struct Statement *next;
  Database *database;
  sqlite3_stmt *statement;
  int is_running;
  int is_dead;
} Statement;

/* A function that a program has defined. An aggregate has no `call`, others have only that. */
typedef struct Function {
  struct Function *next;
  Database *database;
  JSValue call, start, step, result, inverse;
  int read_bigints;
} Function;

struct Database {
  sqlite3 *connection;
  JSContext *context;
  Statement *statements;
  Function *functions;
  JSValue authorizer;
  /* What a callback has thrown. It replaces the error that SQLite reports. */
  JSValue thrown;
  /* The JavaScript object and the statements. */
  int references;
  /* Calls of this file that have not returned, and those of them that run statements. */
  int calls, running;
  /* Calls of functions of the program that have not returned. */
  int callbacks, authorizing;
  int is_interrupted;
};

static JSClassID database_class, statement_class;

/* Errors. */

static JSValue throw_error(JSContext *ctx, const char *code, const char *message)
{
  JSValue error = JS_NewError(ctx);
  if (JS_IsException(error)) return error;
  JS_DefinePropertyValueStr(ctx, error, "message", JS_NewString(ctx, message), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, code), JS_PROP_C_W_E);
  return JS_Throw(ctx, error);
}

static JSValue state_error(JSContext *ctx, const char *message)
{
  return throw_error(ctx, "ERR_INVALID_STATE", message);
}

static JSValue sqlite_error(JSContext *ctx, int code, const char *message)
{
  JSValue error;
  throw_error(ctx, "ERR_SQLITE_ERROR", message);
  error = JS_GetException(ctx);
  if (JS_IsError(error)) {
    JS_DefinePropertyValueStr(ctx, error, "errcode", JS_NewInt32(ctx, code), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, error, "errstr", JS_NewString(ctx, sqlite3_errstr(code)), JS_PROP_C_W_E);
  }
  return JS_Throw(ctx, error);
}

/* Throws what a callback has thrown, or else the last error of the connection. */
static JSValue fail(Database *db)
{
  JSContext *ctx = db->context;
  JSValue thrown = db->thrown;
  if (db->is_interrupted) {
    db->is_interrupted = 0;
    throw_error(ctx, "ERR_SQLITE_ERROR", "interrupted");
    thrown = JS_GetException(ctx);
    JS_SetUncatchableError(ctx, thrown);
    return JS_Throw(ctx, thrown);
  }
  if (JS_IsUninitialized(thrown))
    return sqlite_error(ctx, sqlite3_extended_errcode(db->connection), sqlite3_errmsg(db->connection));
  db->thrown = JS_UNINITIALIZED;
  return JS_Throw(ctx, thrown);
}

/* Keeps the pending exception until SQLite has returned. The first one counts. */
static void keep_exception(Database *db)
{
  JSValue error = JS_GetException(db->context);
  if (JS_IsUninitialized(db->thrown)) db->thrown = error;
  else JS_FreeValue(db->context, error);
}

static int on_progress(void *data)
{
  Database *db = data;
  if (host_interrupt()) db->is_interrupted = 1;
  return db->is_interrupted;
}

/* Lifetime. */

static void release(Database *db)
{
  if (--db->references == 0) free(db);
}

static void free_statement(Statement *statement)
{
  Database *db = statement->database;
  for (Statement **at = &db->statements; *at; at = &(*at)->next) {
    if (*at != statement) continue;
    *at = statement->next;
    break;
  }
  sqlite3_finalize(statement->statement);
  free(statement);
  release(db);
}

static void enter(Database *db)
{
  db->references++;
  db->calls++;
}

/* Statements that were collected during the call are released after it. */
static void leave(Database *db)
{
  Statement *statement, *next;
  if (db->calls == 1) {
    for (statement = db->statements; statement; statement = next) {
      next = statement->next;
      if (statement->is_dead) free_statement(statement);
    }
    if (db->connection && !JS_IsUninitialized(db->thrown)) {
      JS_FreeValue(db->context, db->thrown);
      db->thrown = JS_UNINITIALIZED;
    }
  }
  db->calls--;
  release(db);
}

static void close_connection(Database *db)
{
  sqlite3 *connection = db->connection;
  if (!connection) return;
  for (Statement *statement = db->statements; statement; statement = statement->next) {
    sqlite3_finalize(statement->statement);
    statement->statement = NULL;
  }
  sqlite3_set_authorizer(connection, NULL, NULL);
  sqlite3_close_v2(connection);
  db->connection = NULL;
}

static void finalize_database(JSRuntime *rt, JSValueConst value)
{
  Database *db = JS_GetOpaque(value, database_class);
  if (!db) return;
  /* A call keeps the object alive, so none is under way. */
  enter(db);
  close_connection(db);
  JS_FreeValueRT(rt, db->authorizer);
  db->authorizer = JS_NULL;
  leave(db);
  release(db);
}

static void mark_database(JSRuntime *rt, JSValueConst value, JS_MarkFunc *mark)
{
  Database *db = JS_GetOpaque(value, database_class);
  if (!db) return;
  JS_MarkValue(rt, db->authorizer, mark);
  for (Function *function = db->functions; function; function = function->next) {
    JS_MarkValue(rt, function->call, mark);
    JS_MarkValue(rt, function->start, mark);
    JS_MarkValue(rt, function->step, mark);
    JS_MarkValue(rt, function->result, mark);
    JS_MarkValue(rt, function->inverse, mark);
  }
}

static void finalize_statement(JSRuntime *rt, JSValueConst value)
{
  Statement *statement = JS_GetOpaque(value, statement_class);
  if (!statement) return;
  if (statement->database->calls > 0) statement->is_dead = 1;
  else free_statement(statement);
}

static const JSClassDef DATABASE = {"SqliteConnection", .finalizer = finalize_database, .gc_mark = mark_database};
static const JSClassDef STATEMENT = {"SqliteStatement", .finalizer = finalize_statement};

/* The connection of an argument, if it is open and may be used; otherwise throws. */
static Database *database_of(JSContext *ctx, JSValueConst value)
{
  Database *db = JS_GetOpaque2(ctx, value, database_class);
  if (!db) return NULL;
  if (!db->connection) state_error(ctx, "database is not open");
  else if (db->authorizing) state_error(ctx, "database cannot be accessed from an authorizer callback");
  else return db;
  return NULL;
}

/* The statement of an argument, if it may be used; otherwise throws. */
static Statement *statement_of(JSContext *ctx, JSValueConst value)
{
  Statement *statement = JS_GetOpaque2(ctx, value, statement_class);
  if (!statement) return NULL;
  if (!statement->statement) state_error(ctx, "statement has been finalized");
  else if (statement->database->authorizing)
    state_error(ctx, "database cannot be accessed from an authorizer callback");
  else if (statement->is_running) state_error(ctx, "statement is already being executed");
  else return statement;
  return NULL;
}

/* Values. */

/* The text of a value as UTF-8, in which U+FFFD replaces lone surrogates. */
static const char *text_of(JSContext *ctx, JSValueConst value, size_t *length)
{
  const char *text = JS_ToCStringLen(ctx, length, value);
  for (size_t i = 0; text && i + 2 < *length; i++)
    if ((unsigned char)text[i] == 0xed && (unsigned char)text[i + 1] >= 0xa0) memcpy((char *)text + i, "\xef\xbf\xbd", 3);
  return text;
}

static JSValue integer(JSContext *ctx, sqlite3_int64 value, int read_bigints)
{
  char message[100];
  if (read_bigints) return JS_NewBigInt64(ctx, value);
  if (value >= -MAX_SAFE_INTEGER && value <= MAX_SAFE_INTEGER) return JS_NewInt64(ctx, value);
  sqlite3_snprintf(sizeof(message), message,
    "Value is too large to be represented as a JavaScript number: %lld", value);
  JS_ThrowRangeError(ctx, "%s", message);
  JSValue error = JS_GetException(ctx);
  JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, "ERR_OUT_OF_RANGE"), JS_PROP_C_W_E);
  return JS_Throw(ctx, error);
}

static JSValue value_of(JSContext *ctx, sqlite3_value *value, int read_bigints)
{
  const void *bytes;
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER: return integer(ctx, sqlite3_value_int64(value), read_bigints);
  case SQLITE_FLOAT: return JS_NewFloat64(ctx, sqlite3_value_double(value));
  case SQLITE_TEXT:
    bytes = sqlite3_value_text(value);
    return bytes ? JS_NewStringLen(ctx, bytes, sqlite3_value_bytes(value)) : JS_ThrowOutOfMemory(ctx);
  case SQLITE_BLOB:
    bytes = sqlite3_value_blob(value);
    return JS_NewUint8ArrayCopy(ctx, bytes, sqlite3_value_bytes(value));
  default: return JS_NULL;
  }
}

/* The bytes of an ArrayBuffer or a view of one, which `*owner` keeps; NULL if the value is neither. */
static const uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *length, JSValue *owner)
{
  size_t offset = 0, element, whole;
  const uint8_t *bytes;
  *owner = JS_UNDEFINED;
  *length = 0;
  if (JS_IsArrayBuffer(value)) *owner = JS_DupValue(ctx, value);
  else if (JS_GetTypedArrayType(value) >= 0) *owner = JS_GetTypedArrayBuffer(ctx, value, &offset, length, &element);
  else return NULL;
  bytes = JS_IsException(*owner) ? NULL : JS_GetArrayBuffer(ctx, &whole, *owner);
  if (!bytes) {
    /* Detached, out of bounds or empty. */
    JS_FreeValue(ctx, JS_GetException(ctx));
    *length = 0;
    return (const uint8_t *)"";
  }
  if (JS_IsArrayBuffer(value)) *length = whole;
  if (offset > whole || *length > whole - offset) *length = 0;
  return bytes + offset;
}

static void set_result(JSContext *ctx, sqlite3_context *to, JSValueConst value)
{
  JSValue owner;
  size_t length;
  double number;
  const void *bytes;
  if (JS_IsNull(value) || JS_IsUndefined(value)) sqlite3_result_null(to);
  else if (JS_IsNumber(value)) {
    JS_ToFloat64(ctx, &number, value);
    sqlite3_result_double(to, number);
  } else if (JS_IsString(value)) {
    bytes = text_of(ctx, value, &length);
    if (bytes) sqlite3_result_text64(to, bytes, length, SQLITE_TRANSIENT, SQLITE_UTF8);
    else sqlite3_result_error_nomem(to);
    JS_FreeCString(ctx, bytes);
  } else if (JS_IsBigInt(value)) {
    int64_t whole;
    JSValue back;
    JS_ToBigInt64(ctx, &whole, value);
    back = JS_NewBigInt64(ctx, whole);
    if (JS_IsStrictEqual(ctx, back, value)) sqlite3_result_int64(to, whole);
    else sqlite3_result_error(to, "BigInt value is too large for SQLite", -1);
    JS_FreeValue(ctx, back);
  } else if ((bytes = bytes_of(ctx, value, &length, &owner))) {
    sqlite3_result_blob64(to, bytes, length, SQLITE_TRANSIENT);
    JS_FreeValue(ctx, owner);
  } else if (JS_IsPromise(value))
    sqlite3_result_error(to, "Asynchronous user-defined functions are not supported", -1);
  else sqlite3_result_error(to, "Returned JavaScript value cannot be converted to a SQLite value", -1);
}

/* Functions of the program. */

static JSValue call_function(Database *db, JSValueConst function, int count, JSValue *values)
{
  JSValue result;
  /* The program may replace the function while it runs. */
  JSValue callee = JS_DupValue(db->context, function);
  db->callbacks++;
  result = JS_Call(db->context, callee, JS_UNDEFINED, count, values);
  db->callbacks--;
  JS_FreeValue(db->context, callee);
  if (JS_IsException(result)) keep_exception(db);
  return result;
}

/* Calls a function with values of SQLite, after `first` unless that is uninitialized. An exception becomes an error. */
static JSValue call_with(Function *function, JSValueConst target, JSValueConst first, sqlite3_context *to, int count,
  sqlite3_value **values)
{
  Database *db = function->database;
  JSContext *ctx = db->context;
  JSValue *arguments = malloc(sizeof(*arguments) * (count + 1)), result = JS_EXCEPTION;
  int given = 0, failed = 0;
  if (!arguments) {
    sqlite3_result_error_nomem(to);
    return JS_EXCEPTION;
  }
  if (!JS_IsUninitialized(first)) arguments[given++] = JS_DupValue(ctx, first);
  for (int i = 0; i < count && !failed; i++) {
    JSValue value = value_of(ctx, values[i], function->read_bigints);
    if (JS_IsException(value)) failed = 1;
    else arguments[given++] = value;
  }
  if (failed) keep_exception(db);
  else result = call_function(db, target, given, arguments);
  while (given > 0) JS_FreeValue(ctx, arguments[--given]);
  free(arguments);
  if (JS_IsException(result)) sqlite3_result_error(to, "", 0);
  return result;
}

static void on_call(sqlite3_context *to, int count, sqlite3_value **values)
{
  Function *function = sqlite3_user_data(to);
  JSContext *ctx = function->database->context;
  JSValue result = call_with(function, function->call, JS_UNINITIALIZED, to, count, values);
  if (JS_IsException(result)) return;
  set_result(ctx, to, result);
  JS_FreeValue(ctx, result);
}

/* The value of a group. SQLite allocates it with zeros. */
typedef struct { JSValue value; int exists, is_window; } Group;

static Group *group_of(sqlite3_context *to)
{
  Function *function = sqlite3_user_data(to);
  Database *db = function->database;
  Group *group = sqlite3_aggregate_context(to, sizeof(*group));
  JSValue start;
  if (!group) sqlite3_result_error_nomem(to);
  if (!group || group->exists) return group;
  if (JS_IsFunction(db->context, function->start)) start = call_function(db, function->start, 0, NULL);
  else start = JS_DupValue(db->context, function->start);
  if (JS_IsException(start)) {
    sqlite3_result_error(to, "", 0);
    return NULL;
  }
  group->value = start;
  group->exists = 1;
  return group;
}

static void update_group(sqlite3_context *to, JSValueConst target, int count, sqlite3_value **values)
{
  Function *function = sqlite3_user_data(to);
  Group *group = group_of(to);
  JSValue value;
  if (!group) return;
  value = call_with(function, target, group->value, to, count, values);
  if (JS_IsException(value)) return;
  JS_FreeValue(function->database->context, group->value);
  group->value = value;
}

static void on_step(sqlite3_context *to, int count, sqlite3_value **values)
{
  update_group(to, ((Function *)sqlite3_user_data(to))->step, count, values);
}

static void on_inverse(sqlite3_context *to, int count, sqlite3_value **values)
{
  update_group(to, ((Function *)sqlite3_user_data(to))->inverse, count, values);
}

static void set_group_result(sqlite3_context *to, Group *group)
{
  Function *function = sqlite3_user_data(to);
  Database *db = function->database;
  JSValue result;
  if (JS_IsFunction(db->context, function->result)) result = call_function(db, function->result, 1, &group->value);
  else result = JS_DupValue(db->context, group->value);
  if (JS_IsException(result)) sqlite3_result_error(to, "", 0);
  else {
    set_result(db->context, to, result);
    JS_FreeValue(db->context, result);
  }
}

static void on_value(sqlite3_context *to)
{
  Group *group = group_of(to);
  if (!group) return;
  group->is_window = 1;
  set_group_result(to, group);
}

/* Also called when a statement ends early: then no code of the program may run. */
static void on_final(sqlite3_context *to)
{
  Function *function = sqlite3_user_data(to);
  Database *db = function->database;
  int is_result = db->running > 0 && JS_IsUninitialized(db->thrown) && !db->is_interrupted;
  Group *group = is_result ? group_of(to) : sqlite3_aggregate_context(to, 0);
  if (!group || !group->exists) return;
  if (is_result && !group->is_window) set_group_result(to, group);
  JS_FreeValue(db->context, group->value);
  group->exists = 0;
}

static void free_function(void *data)
{
  Function *function = data;
  JSRuntime *rt = JS_GetRuntime(function->database->context);
  for (Function **at = &function->database->functions; *at; at = &(*at)->next) {
    if (*at != function) continue;
    *at = function->next;
    break;
  }
  JS_FreeValueRT(rt, function->call);
  JS_FreeValueRT(rt, function->start);
  JS_FreeValueRT(rt, function->step);
  JS_FreeValueRT(rt, function->result);
  JS_FreeValueRT(rt, function->inverse);
  free(function);
}

/* define(database, name, count, flags, bigints, call, start, step, result, inverse) */
static JSValue define(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  const char *name = db ? JS_ToCString(ctx, values[1]) : NULL;
  Function *function = name ? malloc(sizeof(*function)) : NULL;
  int count, flags, bigints, code;
  if (!function || JS_ToInt32(ctx, &count, values[2]) || JS_ToInt32(ctx, &flags, values[3]) ||
      JS_ToInt32(ctx, &bigints, values[4])) {
    if (name && !function) JS_ThrowOutOfMemory(ctx);
    JS_FreeCString(ctx, name);
    free(function);
    return JS_EXCEPTION;
  }
  *function = (Function){
    db->functions, db, JS_DupValue(ctx, values[5]), JS_DupValue(ctx, values[6]), JS_DupValue(ctx, values[7]),
    JS_DupValue(ctx, values[8]), JS_DupValue(ctx, values[9]), bigints,
  };
  db->functions = function;
  enter(db);
  flags |= SQLITE_UTF8;
  /* On failure, SQLite frees the function. */
  if (JS_IsFunction(ctx, values[5]))
    code = sqlite3_create_function_v2(db->connection, name, count, flags, function, on_call, NULL, NULL, free_function);
  else {
    int has_inverse = JS_IsFunction(ctx, values[9]);
    code = sqlite3_create_window_function(db->connection, name, count, flags, function, on_step, on_final,
      has_inverse ? on_value : NULL, has_inverse ? on_inverse : NULL, free_function);
  }
  JS_FreeCString(ctx, name);
  JSValue result = code == SQLITE_OK ? JS_UNDEFINED : fail(db);
  leave(db);
  return result;
}

/* Connections. */

/* open(path, flags, timeout) */
static JSValue open_database(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int flags, timeout, code;
  Database *db = NULL;
  JSValue object = JS_EXCEPTION, result = JS_EXCEPTION;
  const char *path = JS_ToCString(ctx, values[0]);
  if (!path || JS_ToInt32(ctx, &flags, values[1]) || JS_ToInt32(ctx, &timeout, values[2])) goto end;
  object = JS_NewObjectClass(ctx, database_class);
  if (JS_IsException(object)) goto end;
  db = calloc(1, sizeof(*db));
  if (!db) {
    JS_ThrowOutOfMemory(ctx);
    goto end;
  }
  *db = (Database){.context = ctx, .references = 1, .authorizer = JS_NULL, .thrown = JS_UNINITIALIZED};
  JS_SetOpaque(object, db);
  code = sqlite3_open_v2(path, &db->connection, flags, NULL);
  if (code != SQLITE_OK) {
    sqlite_error(ctx, db->connection ? sqlite3_extended_errcode(db->connection) : code,
      db->connection ? sqlite3_errmsg(db->connection) : sqlite3_errstr(code));
    goto end;
  }
  sqlite3_busy_timeout(db->connection, timeout);
  sqlite3_progress_handler(db->connection, PROGRESS_STEPS, on_progress, db);
  result = JS_DupValue(ctx, object);
end:
  JS_FreeCString(ctx, path);
  JS_FreeValue(ctx, object);
  return result;
}

static JSValue close_database(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  if (!db) return JS_EXCEPTION;
  if (db->calls > 0) return state_error(ctx, "database cannot be closed while in a callback");
  enter(db);
  close_connection(db);
  leave(db);
  return JS_UNDEFINED;
}

/* configure(database, option, value): a switch of the connection; returns what it is after. */
static JSValue configure(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int option, value, after = 0;
  Database *db = database_of(ctx, values[0]);
  if (!db || JS_ToInt32(ctx, &option, values[1]) || JS_ToInt32(ctx, &value, values[2])) return JS_EXCEPTION;
  switch (option) {
  case SQLITE_DBCONFIG_DQS_DML:
  case SQLITE_DBCONFIG_DQS_DDL:
  case SQLITE_DBCONFIG_ENABLE_FKEY:
  case SQLITE_DBCONFIG_DEFENSIVE:
    if (sqlite3_db_config(db->connection, option, value, &after) != SQLITE_OK) return fail(db);
    return JS_NewInt32(ctx, after);
  default: return JS_ThrowRangeError(ctx, "unknown option");
  }
}

/* limit(database, limit, value): sets a limit unless the value is negative; returns what it was before. */
static JSValue set_limit(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int limit, value;
  Database *db = database_of(ctx, values[0]);
  if (!db || JS_ToInt32(ctx, &limit, values[1]) || JS_ToInt32(ctx, &value, values[2])) return JS_EXCEPTION;
  return JS_NewInt32(ctx, sqlite3_limit(db->connection, limit, value));
}

static JSValue execute(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  size_t length;
  const char *sql = db ? text_of(ctx, values[1], &length) : NULL;
  int code;
  if (!sql) return JS_EXCEPTION;
  enter(db);
  db->running++;
  code = sqlite3_exec(db->connection, sql, NULL, NULL, NULL);
  db->running--;
  JS_FreeCString(ctx, sql);
  JSValue result = code == SQLITE_OK ? JS_UNDEFINED : fail(db);
  leave(db);
  return result;
}

static JSValue in_transaction(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  return db ? JS_NewBool(ctx, !sqlite3_get_autocommit(db->connection)) : JS_EXCEPTION;
}

static JSValue text_or_null(JSContext *ctx, const char *text) { return text ? JS_NewString(ctx, text) : JS_NULL; }

static JSValue location(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  const char *name = db ? JS_ToCString(ctx, values[1]) : NULL, *file;
  if (!name) return JS_EXCEPTION;
  file = sqlite3_db_filename(db->connection, name);
  JS_FreeCString(ctx, name);
  return text_or_null(ctx, file && *file ? file : NULL);
}

/* changes(database, bigints): the changes of the last statement and the last row, in a list. */
static JSValue changes(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int bigints;
  Database *db = database_of(ctx, values[0]);
  if (!db || JS_ToInt32(ctx, &bigints, values[1])) return JS_EXCEPTION;
  JSValue pair[] = {
    integer(ctx, sqlite3_changes64(db->connection), bigints),
    integer(ctx, sqlite3_last_insert_rowid(db->connection), bigints),
  };
  if (JS_IsException(pair[0]) || JS_IsException(pair[1])) {
    JS_FreeValue(ctx, pair[0]);
    JS_FreeValue(ctx, pair[1]);
    return JS_EXCEPTION;
  }
  return JS_NewArrayFrom(ctx, 2, pair);
}

static JSValue serialize(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  const char *name = db ? JS_ToCString(ctx, values[1]) : NULL;
  sqlite3_int64 length = 0;
  unsigned char *bytes;
  JSValue result;
  if (!name) return JS_EXCEPTION;
  enter(db);
  bytes = sqlite3_serialize(db->connection, name, &length, 0);
  if (bytes) result = JS_NewUint8ArrayCopy(ctx, bytes, length);
  else if (sqlite3_errcode(db->connection) == SQLITE_OK && length == 0) result = JS_NewUint8ArrayCopy(ctx, bytes, 0);
  else result = fail(db);
  sqlite3_free(bytes);
  JS_FreeCString(ctx, name);
  leave(db);
  return result;
}

/* deserialize(database, name, bytes): all statements of the connection end. */
static JSValue deserialize(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  const char *name = db ? JS_ToCString(ctx, values[1]) : NULL;
  const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
  JSValue owner, result = JS_EXCEPTION;
  size_t length;
  const uint8_t *bytes;
  unsigned char *copy;
  if (!name) return JS_EXCEPTION;
  bytes = bytes_of(ctx, values[2], &length, &owner);
  copy = bytes ? sqlite3_malloc64(length ? length : 1) : NULL;
  if (db->calls > 0) state_error(ctx, "database cannot be deserialized while in a callback");
  else if (!copy) JS_ThrowOutOfMemory(ctx);
  else {
    memcpy(copy, bytes, length);
    enter(db);
    for (Statement *statement = db->statements; statement; statement = statement->next) {
      sqlite3_finalize(statement->statement);
      statement->statement = NULL;
    }
    /* Frees the copy, also on failure. */
    result = sqlite3_deserialize(db->connection, name, copy, length, length, flags) ? fail(db) : JS_UNDEFINED;
    copy = NULL;
    leave(db);
  }
  sqlite3_free(copy);
  JS_FreeValue(ctx, owner);
  JS_FreeCString(ctx, name);
  return result;
}

static int on_authorize(void *data, int action, const char *first, const char *second, const char *name, const char *by)
{
  Database *db = data;
  JSContext *ctx = db->context;
  const char *texts[] = {first, second, name, by};
  JSValue values[5] = {JS_NewInt32(ctx, action)}, result;
  int answer = SQLITE_DENY;
  for (int i = 0; i < 4; i++) values[i + 1] = text_or_null(ctx, texts[i]);
  db->authorizing++;
  result = call_function(db, db->authorizer, 5, values);
  db->authorizing--;
  for (int i = 0; i < 5; i++) JS_FreeValue(ctx, values[i]);
  if (JS_IsException(result)) return SQLITE_DENY;
  if (JS_IsNumber(result) && JS_VALUE_GET_TAG(result) == JS_TAG_INT) answer = JS_VALUE_GET_INT(result);
  else {
    JS_ThrowTypeError(ctx, "Authorizer callback must return an integer authorization code");
    keep_exception(db);
  }
  JS_FreeValue(ctx, result);
  if (answer == SQLITE_OK || answer == SQLITE_DENY || answer == SQLITE_IGNORE) return answer;
  JS_ThrowRangeError(ctx, "Authorizer callback returned a invalid authorization code");
  keep_exception(db);
  return SQLITE_DENY;
}

static JSValue set_authorizer(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  if (!db) return JS_EXCEPTION;
  enter(db);
  JSValue before = db->authorizer;
  db->authorizer = JS_DupValue(ctx, values[1]);
  sqlite3_set_authorizer(db->connection, JS_IsFunction(ctx, values[1]) ? on_authorize : NULL, db);
  JS_FreeValue(ctx, before);
  leave(db);
  return JS_UNDEFINED;
}

/* backup(to, to name, from, from name, pages, progress): returns the number of pages. */
static JSValue backup(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *to = database_of(ctx, values[0]), *from = to ? database_of(ctx, values[2]) : NULL;
  const char *to_name = from ? JS_ToCString(ctx, values[1]) : NULL;
  const char *from_name = to_name ? JS_ToCString(ctx, values[3]) : NULL;
  JSValue result = JS_EXCEPTION, counts[2];
  sqlite3_backup *job;
  int pages, code = SQLITE_OK;
  if (!from_name || JS_ToInt32(ctx, &pages, values[4])) goto end;
  enter(to);
  enter(from);
  job = sqlite3_backup_init(to->connection, to_name, from->connection, from_name);
  if (!job) result = fail(to);
  while (job) {
    code = sqlite3_backup_step(job, pages);
    if (code != SQLITE_OK) break;
    counts[0] = JS_NewInt32(ctx, sqlite3_backup_pagecount(job));
    counts[1] = JS_NewInt32(ctx, sqlite3_backup_remaining(job));
    if (on_progress(to)) break;
    if (JS_IsFunction(ctx, values[5]) && JS_IsException(call_function(to, values[5], 2, counts))) break;
  }
  if (job) {
    pages = sqlite3_backup_pagecount(job);
    sqlite3_backup_finish(job);
    result = code == SQLITE_DONE ? JS_NewInt32(ctx, pages) : fail(to);
  }
  leave(from);
  leave(to);
end:
  JS_FreeCString(ctx, from_name);
  JS_FreeCString(ctx, to_name);
  return result;
}

/* Statements. */

/* prepare(database, sql, flags): null if the text contains no statement. */
static JSValue prepare(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Database *db = database_of(ctx, values[0]);
  size_t length;
  const char *sql = db ? text_of(ctx, values[1], &length) : NULL;
  Statement *statement = sql ? calloc(1, sizeof(*statement)) : NULL;
  JSValue object = JS_EXCEPTION;
  int flags;
  if (statement && !JS_ToInt32(ctx, &flags, values[2])) object = JS_NewObjectClass(ctx, statement_class);
  else if (sql && !statement) JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) {
    free(statement);
    JS_FreeCString(ctx, sql);
    return JS_EXCEPTION;
  }
  *statement = (Statement){.next = db->statements, .database = db};
  db->statements = statement;
  db->references++;
  JS_SetOpaque(object, statement);
  enter(db);
  if (sqlite3_prepare_v3(db->connection, sql, length + 1, flags, &statement->statement, NULL) != SQLITE_OK ||
      !JS_IsUninitialized(db->thrown)) {
    JS_FreeValue(ctx, object);
    object = fail(db);
  } else if (!statement->statement) {
    JS_FreeValue(ctx, object);
    object = JS_NULL;
  }
  JS_FreeCString(ctx, sql);
  leave(db);
  return object;
}

static JSValue finalize(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = statement_of(ctx, values[0]);
  if (!statement) return JS_EXCEPTION;
  sqlite3_stmt *ended = statement->statement;
  int running = statement->database->running;
  statement->statement = NULL;
  enter(statement->database);
  statement->database->running = 0;
  sqlite3_finalize(ended);
  statement->database->running = running;
  leave(statement->database);
  return JS_UNDEFINED;
}

static int reset_statement(Statement *statement)
{
  Database *db = statement->database;
  int running = db->running, code;
  db->running = 0;
  code = sqlite3_reset(statement->statement);
  db->running = running;
  return code;
}

/* reset(statement, clear): the statement starts again, without its values if `clear` is true. */
static JSValue reset(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = statement_of(ctx, values[0]);
  if (!statement) return JS_EXCEPTION;
  enter(statement->database);
  int code = reset_statement(statement);
  if (JS_ToBool(ctx, values[1])) sqlite3_clear_bindings(statement->statement);
  JSValue result = code == SQLITE_OK ? JS_UNDEFINED : fail(statement->database);
  leave(statement->database);
  return result;
}

/* The names of the parameters, null for those without. */
static JSValue parameters(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = statement_of(ctx, values[0]);
  JSValue list = statement ? JS_NewArray(ctx) : JS_EXCEPTION;
  int count = statement ? sqlite3_bind_parameter_count(statement->statement) : 0;
  for (int i = 0; i < count && !JS_IsException(list); i++) {
    JSValue name = text_or_null(ctx, sqlite3_bind_parameter_name(statement->statement, i + 1));
    if (JS_DefinePropertyValueUint32(ctx, list, i, name, JS_PROP_C_W_E) >= 0) continue;
    JS_FreeValue(ctx, list);
    list = JS_EXCEPTION;
  }
  return list;
}

/* bind(statement, index, value): false if SQLite has no such type, null if a BigInt is too large. */
static JSValue bind(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int index, code, is_known = 1;
  size_t length;
  Statement *statement = statement_of(ctx, values[0]);
  JSValueConst value = values[2];
  JSValue owner = JS_UNDEFINED, back;
  const void *bytes;
  double number;
  int64_t whole;
  if (!statement || JS_ToInt32(ctx, &index, values[1])) return JS_EXCEPTION;
  sqlite3_stmt *to = statement->statement;
  if (JS_IsNumber(value)) {
    JS_ToFloat64(ctx, &number, value);
    code = sqlite3_bind_double(to, index, number);
  } else if (JS_IsString(value)) {
    bytes = text_of(ctx, value, &length);
    if (!bytes) return JS_EXCEPTION;
    code = sqlite3_bind_text64(to, index, bytes, length, SQLITE_TRANSIENT, SQLITE_UTF8);
    JS_FreeCString(ctx, bytes);
  } else if (JS_IsNull(value)) code = sqlite3_bind_null(to, index);
  else if (JS_IsBool(value)) code = sqlite3_bind_int(to, index, JS_ToBool(ctx, value));
  else if (JS_IsBigInt(value)) {
    JS_ToBigInt64(ctx, &whole, value);
    back = JS_NewBigInt64(ctx, whole);
    is_known = JS_IsStrictEqual(ctx, back, value);
    JS_FreeValue(ctx, back);
    if (!is_known) return JS_NULL;
    code = sqlite3_bind_int64(to, index, whole);
  } else if ((bytes = bytes_of(ctx, value, &length, &owner))) {
    code = sqlite3_bind_blob64(to, index, bytes, length, SQLITE_TRANSIENT);
    JS_FreeValue(ctx, owner);
  } else return JS_FALSE;
  return code == SQLITE_OK ? JS_TRUE : fail(statement->database);
}

static JSValue row_of(JSContext *ctx, sqlite3_stmt *statement, int flags)
{
  int count = sqlite3_column_count(statement), is_list = flags & RETURN_ARRAYS;
  JSValue row = is_list ? JS_NewArray(ctx) : JS_NewObjectProto(ctx, JS_NULL);
  for (int i = 0; i < count && !JS_IsException(row); i++) {
    JSValue value = value_of(ctx, sqlite3_column_value(statement, i), flags & READ_BIGINTS);
    int is_set = 0;
    if (JS_IsException(value)) is_set = -1;
    else if (is_list) is_set = JS_DefinePropertyValueUint32(ctx, row, i, value, JS_PROP_C_W_E);
    else {
      const char *name = sqlite3_column_name(statement, i);
      is_set = name ? JS_DefinePropertyValueStr(ctx, row, name, value, JS_PROP_C_W_E) : -1;
      if (!name) JS_FreeValue(ctx, value);
      if (!name) JS_ThrowOutOfMemory(ctx);
    }
    if (is_set >= 0) continue;
    JS_FreeValue(ctx, row);
    row = JS_EXCEPTION;
  }
  return row;
}

/* step(statement, flags): the next row, or undefined at the end, after which the statement starts again. */
static JSValue step(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  int flags, code;
  Statement *statement = statement_of(ctx, values[0]);
  JSValue result;
  if (!statement || JS_ToInt32(ctx, &flags, values[1])) return JS_EXCEPTION;
  Database *db = statement->database;
  enter(db);
  statement->is_running = 1;
  db->running++;
  code = sqlite3_step(statement->statement);
  db->running--;
  if (code == SQLITE_ROW) result = row_of(ctx, statement->statement, flags);
  else if (code == SQLITE_DONE) result = reset_statement(statement) == SQLITE_OK ? JS_UNDEFINED : fail(db);
  else {
    result = fail(db);
    reset_statement(statement);
  }
  if (code == SQLITE_ROW && JS_IsException(result)) reset_statement(statement);
  statement->is_running = 0;
  leave(db);
  return result;
}

static JSValue columns(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = statement_of(ctx, values[0]);
  JSValue list = statement ? JS_NewArray(ctx) : JS_EXCEPTION;
  int count = statement ? sqlite3_column_count(statement->statement) : 0;
  for (int i = 0; i < count && !JS_IsException(list); i++) {
    sqlite3_stmt *from = statement->statement;
    JSValue column = JS_NewObjectProto(ctx, JS_NULL);
    JS_DefinePropertyValueStr(ctx, column, "column", text_or_null(ctx, sqlite3_column_origin_name(from, i)), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, column, "database", text_or_null(ctx, sqlite3_column_database_name(from, i)), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, column, "name", text_or_null(ctx, sqlite3_column_name(from, i)), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, column, "table", text_or_null(ctx, sqlite3_column_table_name(from, i)), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, column, "type", text_or_null(ctx, sqlite3_column_decltype(from, i)), JS_PROP_C_W_E);
    if (JS_DefinePropertyValueUint32(ctx, list, i, column, JS_PROP_C_W_E) >= 0) continue;
    JS_FreeValue(ctx, list);
    list = JS_EXCEPTION;
  }
  return list;
}

/* source(statement, expanded): its text, with the bound values if `expanded` is true. */
static JSValue source(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = JS_GetOpaque2(ctx, values[0], statement_class);
  if (!statement) return JS_EXCEPTION;
  if (!statement->statement) return state_error(ctx, "statement has been finalized");
  if (!JS_ToBool(ctx, values[1])) return JS_NewString(ctx, sqlite3_sql(statement->statement));
  char *text = sqlite3_expanded_sql(statement->statement);
  if (!text) return throw_error(ctx, "ERR_SQLITE_ERROR", "Expanded SQL text would exceed configured limits");
  JSValue result = JS_NewString(ctx, text);
  sqlite3_free(text);
  return result;
}

/* isFinalized(statement) */
static JSValue is_finalized(JSContext *ctx, JSValueConst self, int given, JSValueConst *values)
{
  Statement *statement = JS_GetOpaque2(ctx, values[0], statement_class);
  return statement ? JS_NewBool(ctx, !statement->statement) : JS_EXCEPTION;
}

/* QuickJS passes as many values as a function has parameters, undefined for those that are missing. */
static const struct { const char *name; JSCFunction *call; int parameters; } FUNCTIONS[] = {
  {"open", open_database, 3}, {"close", close_database, 1}, {"configure", configure, 3}, {"limit", set_limit, 3},
  {"exec", execute, 2}, {"inTransaction", in_transaction, 1}, {"location", location, 2}, {"changes", changes, 2},
  {"serialize", serialize, 2}, {"deserialize", deserialize, 3}, {"setAuthorizer", set_authorizer, 2},
  {"backup", backup, 6}, {"define", define, 10}, {"prepare", prepare, 3}, {"finalize", finalize, 1},
  {"reset", reset, 2}, {"parameters", parameters, 1}, {"bind", bind, 3}, {"step", step, 2},
  {"columns", columns, 1}, {"source", source, 2}, {"isFinalized", is_finalized, 1},
};

/* The functions, in an object that the host owns; null without memory. */
JSValue *EXPORT(sandbox_library)(JSContext *ctx)
{
  JSRuntime *rt = JS_GetRuntime(ctx);
  JSValue *handle = malloc(sizeof(*handle)), library;
  if (!handle || sqlite3_initialize() != SQLITE_OK) goto fail;
  if (!database_class) {
    JS_NewClassID(rt, &database_class);
    JS_NewClassID(rt, &statement_class);
    if (JS_NewClass(rt, database_class, &DATABASE) < 0 || JS_NewClass(rt, statement_class, &STATEMENT) < 0) goto fail;
  }
  library = JS_NewObject(ctx);
  if (JS_IsException(library)) goto fail;
  for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
    JSValue function = JS_NewCFunction(ctx, FUNCTIONS[i].call, FUNCTIONS[i].name, FUNCTIONS[i].parameters);
    if (JS_DefinePropertyValueStr(ctx, library, FUNCTIONS[i].name, function, JS_PROP_C_W_E) >= 0) continue;
    JS_FreeValue(ctx, library);
    goto fail;
  }
  *handle = library;
  return handle;
fail:
  free(handle);
  return NULL;
}
