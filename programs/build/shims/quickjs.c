/*
 * The functions of QuickJS that the sandbox calls. A value crosses the border as the address of a JSValue on the heap, which
 * the host frees with qjs_free_value. The host has one context.
 */
#include "quickjs.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define HOST(name) __attribute__((import_module("env"), import_name(#name))) name
#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name))) name

JSValue *HOST(host_call)(const char *name, int length, JSValue *self, int count, JSValue **values);
int HOST(host_interrupt)(void);
void HOST(host_promise_rejection)(JSValue *promise, JSValue *reason, int is_handled);
char *HOST(host_module_normalize)(const char *base, const char *name);
char *HOST(host_module_load)(const char *name, size_t *length);

static JSRuntime *runtime;
static JSContext *context;

/* A value for the host, which owns it; null if there is no memory. */
static JSValue *give(JSValue value)
{
  JSValue *handle = malloc(sizeof(value));
  if (handle) *handle = value;
  else JS_FreeValue(context, value);
  return handle;
}

static JSValue *lend(JSValueConst value) { return give(JS_DupValue(context, value)); }

void EXPORT(qjs_free_value)(JSValue *handle)
{
  JS_FreeValue(context, *handle);
  free(handle);
}

/* What QuickJS asks the host. */

static int on_interrupt(JSRuntime *rt, void *opaque) { return host_interrupt(); }

static void on_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque)
{
  JSValue *first = lend(promise), *second = lend(reason);
  if (first && second) host_promise_rejection(first, second, is_handled);
}

static char *on_normalize(JSContext *ctx, const char *base, const char *name, void *opaque)
{
  char *found = host_module_normalize(base, name), *copy;
  if (!found) {
    if (!JS_HasException(ctx)) JS_ThrowReferenceError(ctx, "could not normalize module '%s'", name);
    return NULL;
  }
  /* QuickJS frees the name with its own allocator. */
  copy = js_strdup(ctx, found);
  free(found);
  return copy;
}

static JSModuleDef *on_load(JSContext *ctx, const char *name, void *opaque)
{
  size_t length = 0;
  char *source = host_module_load(name, &length);
  JSValue compiled;
  if (!source) {
    if (!JS_HasException(ctx)) JS_ThrowReferenceError(ctx, "could not load module '%s'", name);
    return NULL;
  }
  compiled = JS_Eval(ctx, source, length, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  free(source);
  return JS_IsException(compiled) ? NULL : JS_VALUE_GET_PTR(compiled);
}

/* A function of the host. Its name is the data of the function, so that images contain it. */
static JSValue on_call(JSContext *ctx, JSValueConst self, int count, JSValueConst *values, int magic, JSValueConst *data)
{
  size_t length;
  int given = 0;
  const char *name = JS_ToCStringLen(ctx, &length, data[0]);
  JSValue **handles = name ? malloc(sizeof(*handles) * (count + 1)) : NULL, *answer = NULL, result = JS_EXCEPTION;
  while (handles && given <= count && (handles[given] = lend(given ? values[given - 1] : self))) given++;
  if (given > count) answer = host_call(name, length, handles[0], count, handles + 1);
  else if (name) JS_ThrowOutOfMemory(ctx);
  /* Without an answer, the host has thrown an exception. */
  if (answer) {
    result = *answer;
    free(answer);
  }
  while (given > 0) qjs_free_value(handles[--given]);
  free(handles);
  if (name) JS_FreeCString(ctx, name);
  return result;
}

/* Starting. */

int EXPORT(qjs_init)(void)
{
  if (runtime || !(runtime = JS_NewRuntime())) return -1;
  return (context = JS_NewContext(runtime)) ? 0 : -1;
}

void EXPORT(qjs_set_interrupt_handler)(int on) { JS_SetInterruptHandler(runtime, on ? on_interrupt : NULL, NULL); }

void EXPORT(qjs_set_promise_rejection_handler)(int on)
{
  JS_SetHostPromiseRejectionTracker(runtime, on ? on_rejection : NULL, NULL);
}

void EXPORT(qjs_set_module_loader)(int on)
{
  JS_SetModuleLoaderFunc(runtime, on ? on_normalize : NULL, on ? on_load : NULL, NULL);
}

void EXPORT(qjs_set_max_stack_size)(size_t bytes) { JS_SetMaxStackSize(runtime, bytes); }
void EXPORT(qjs_run_gc)(void) { JS_RunGC(runtime); }
JSContext *EXPORT(qjs_get_context_ptr)(void) { return context; }

/* Running code. */

static JSValue return_data(JSContext *ctx, JSValueConst self, int count, JSValueConst *values, int magic, JSValueConst *data)
{
  return JS_DupValue(ctx, data[0]);
}

/* Evaluates a module. Returns a promise of its exports, which is settled unless the module awaits something. */
static JSValue evaluate_module(JSValue compiled)
{
  JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
  JSValue evaluated, exports, resolve = JS_EXCEPTION, promise = JS_EXCEPTION;
  if (JS_ResolveModule(context, compiled) < 0) {
    JS_FreeValue(context, compiled);
    return JS_EXCEPTION;
  }
  evaluated = JS_EvalFunction(context, compiled);
  if (JS_IsException(evaluated) || JS_PromiseState(context, evaluated) == JS_PROMISE_REJECTED) return evaluated;
  exports = JS_GetModuleNamespace(context, module);
  if (!JS_IsException(exports) && JS_PromiseState(context, evaluated) == JS_PROMISE_FULFILLED)
    promise = JS_NewSettledPromise(context, false, exports);
  else if (!JS_IsException(exports))
    resolve = JS_NewCFunctionData(context, return_data, 0, 0, 1, &exports);
  if (!JS_IsException(resolve)) promise = JS_PromiseThen(context, evaluated, resolve, JS_UNDEFINED);
  JS_FreeValue(context, exports);
  JS_FreeValue(context, resolve);
  JS_FreeValue(context, evaluated);
  return promise;
}

JSValue *EXPORT(qjs_eval)(const char *code, size_t length, const char *file, int flags)
{
  int is_module = (flags & JS_EVAL_TYPE_MASK) == JS_EVAL_TYPE_MODULE && !(flags & JS_EVAL_FLAG_COMPILE_ONLY);
  JSValue value = JS_Eval(context, code, length, file, flags | (is_module ? JS_EVAL_FLAG_COMPILE_ONLY : 0));
  return give(is_module && !JS_IsException(value) ? evaluate_module(value) : value);
}

uint8_t *EXPORT(qjs_compile)(const char *code, size_t length, const char *file, int flags, int write_flags, size_t *size)
{
  JSValue compiled = JS_Eval(context, code, length, file, flags | JS_EVAL_FLAG_COMPILE_ONLY);
  uint8_t *bytes, *copy = NULL;
  *size = 0;
  if (JS_IsException(compiled)) return NULL;
  bytes = JS_WriteObject(context, size, compiled, write_flags | JS_WRITE_OBJ_BYTECODE);
  JS_FreeValue(context, compiled);
  if (bytes && (copy = malloc(*size))) memcpy(copy, bytes, *size);
  if (bytes) js_free(context, bytes);
  return copy;
}

JSValue *EXPORT(qjs_eval_bytecode)(const uint8_t *bytes, size_t length)
{
  JSValue value = JS_ReadObject(context, bytes, length, JS_READ_OBJ_BYTECODE);
  if (JS_IsException(value)) return give(value);
  return give(JS_VALUE_GET_TAG(value) == JS_TAG_MODULE ? evaluate_module(value) : JS_EvalFunction(context, value));
}

JSValue *EXPORT(qjs_call)(JSValue *target, JSValue *self, int count, JSValue **handles)
{
  JSValue *values = malloc(sizeof(*values) * (count + 1)), result;
  if (!values) return NULL;
  for (int i = 0; i < count; i++) values[i] = *handles[i];
  result = JS_Call(context, *target, *self, count, values);
  free(values);
  return give(result);
}

int EXPORT(qjs_is_job_pending)(void) { return JS_IsJobPending(runtime); }

int EXPORT(qjs_execute_pending_job)(void)
{
  JSContext *used;
  return JS_ExecutePendingJob(runtime, &used);
}

/* Values. */

JSValue *EXPORT(qjs_new_string)(const char *text, size_t length) { return give(JS_NewStringLen(context, text, length)); }
JSValue *EXPORT(qjs_new_number)(double number) { return give(JS_NewFloat64(context, number)); }
JSValue *EXPORT(qjs_new_object)(void) { return give(JS_NewObject(context)); }
JSValue *EXPORT(qjs_get_undefined)(void) { return give(JS_UNDEFINED); }
JSValue *EXPORT(qjs_dup_value)(JSValue *value) { return lend(*value); }

JSValue *EXPORT(qjs_new_array_buffer)(const uint8_t *bytes, size_t length)
{
  return give(JS_NewArrayBufferCopy(context, bytes, length));
}

JSValue *EXPORT(qjs_new_host_function)(const char *name, int length, int parameters)
{
  JSValue data = JS_NewStringLen(context, name, length);
  JSValue target = JS_NewCFunctionData2(context, on_call, name, parameters, 0, 1, &data);
  JS_FreeValue(context, data);
  return give(target);
}

double EXPORT(qjs_get_float64)(JSValue *value)
{
  double number = 0;
  JS_ToFloat64(context, &number, *value);
  return number;
}

const char *EXPORT(qjs_get_string_len)(JSValue *value, size_t *length) { return JS_ToCStringLen(context, length, *value); }
void EXPORT(qjs_free_cstring)(const char *text) { JS_FreeCString(context, text); }

uint8_t *EXPORT(qjs_get_array_buffer)(JSValue *value, size_t *length) { return JS_GetArrayBuffer(context, length, *value); }

JSValue *EXPORT(qjs_get_class_name)(JSValue *value)
{
  JSClassID class = JS_GetClassID(*value);
  JSAtom atom = class == JS_INVALID_CLASS_ID ? JS_ATOM_NULL : JS_GetClassName(runtime, class);
  if (atom == JS_ATOM_NULL) return give(JS_UNDEFINED);
  JSValue name = JS_AtomToString(context, atom);
  JS_FreeAtom(context, atom);
  return give(name);
}

JSValue *EXPORT(qjs_get_prop_string)(JSValue *object, const char *name)
{
  return give(JS_GetPropertyStr(context, *object, name));
}

int EXPORT(qjs_set_prop_string)(JSValue *object, const char *name, JSValue *value)
{
  return JS_SetPropertyStr(context, *object, name, JS_DupValue(context, *value));
}

JSValue *EXPORT(qjs_get_proxy_target)(JSValue *proxy) { return give(JS_GetProxyTarget(context, *proxy)); }
JSValue *EXPORT(qjs_get_proxy_handler)(JSValue *proxy) { return give(JS_GetProxyHandler(context, *proxy)); }
int EXPORT(qjs_promise_state)(JSValue *promise) { return JS_PromiseState(context, *promise); }
JSValue *EXPORT(qjs_promise_result)(JSValue *promise) { return give(JS_PromiseResult(context, *promise)); }
JSValue *EXPORT(qjs_get_exception)(void) { return give(JS_GetException(context)); }
void EXPORT(qjs_throw)(JSValue *value) { JS_Throw(context, JS_DupValue(context, *value)); }

int EXPORT(qjs_is_array_buffer)(JSValue *value) { return JS_IsArrayBuffer(*value); }
int EXPORT(qjs_is_exception)(JSValue *value) { return JS_IsException(*value); }
int EXPORT(qjs_is_function)(JSValue *value) { return JS_IsFunction(context, *value); }
int EXPORT(qjs_is_number)(JSValue *value) { return JS_IsNumber(*value); }
int EXPORT(qjs_is_promise)(JSValue *value) { return JS_IsPromise(*value); }
int EXPORT(qjs_is_proxy)(JSValue *value) { return JS_IsProxy(*value); }
int EXPORT(qjs_is_string)(JSValue *value) { return JS_IsString(*value); }

/* The system below QuickJS: memory, clock, time zone, end. */

void *EXPORT(wasm_malloc)(size_t bytes) { return malloc(bytes); }
void EXPORT(wasm_free)(void *pointer) { free(pointer); }

void __wasm_call_ctors(void);
void EXPORT(_initialize)(void) { __wasm_call_ctors(); }

enum { PAGE = 65536 };

int emscripten_resize_heap(size_t bytes)
{
  size_t pages = (bytes + PAGE - 1) / PAGE, now = __builtin_wasm_memory_size(0);
  return pages <= now || __builtin_wasm_memory_grow(0, pages - now) != (size_t)-1;
}

size_t emscripten_get_heap_max(void) { return 0x80000000; }

int kernel_clock(int clock, int64_t precision, int64_t *nanoseconds) WASI(clock_time_get);

int clock_gettime(clockid_t clock, struct timespec *time)
{
  int64_t now = 0;
  kernel_clock(clock == CLOCK_MONOTONIC, 1, &now);
  *time = (struct timespec){now / 1000000000, now % 1000000000};
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

/* QuickJS only reads the distance to UTC, which is the time zone of the sandbox. */
struct tm *localtime_r(const time_t *restrict time, struct tm *restrict parts)
{
  *parts = (struct tm){0};
  return parts;
}

_Noreturn void abort(void) { __builtin_trap(); }
