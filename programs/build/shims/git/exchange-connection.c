/* Connections in turns: see exchange.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "config.h"
#include "copy.h"
#include "credential.h"
#include "environment.h"
#include "exchange.h"
#include "gettext.h"
#include "protocol.h"
#include "quote.h"
#include "repository.h"
#include "run-command.h"
#include "strvec.h"
#include "supply.h"
#include "tempfile.h"
#include "transport.h"
#include "urlmatch.h"
#include "version.h"

struct connection {
  struct child_process process; /* must be the first member */
  struct connection *next;
  char *program, *target;
  int version, turns, status, requests;
  off_t sent;
  struct supply *answers;
  struct credential credential;
};

static struct connection *connections;

int is_http_url(const char *url) { return starts_with(url, "http://") || starts_with(url, "https://"); }

/* "upload-pack" of "git-upload-pack". */
static int is_archive(const struct connection *connection) { return ends_with(connection->program, "upload-archive"); }

/* A repository in the file system: its program runs for every turn. */

static void local_command(struct connection *connection, struct child_process *child)
{
  const char *options[] = {"--stateless-rpc", connection->turns ? NULL : "--http-backend-info-refs", NULL};
  const char **shown = is_archive(connection) ? options + 2 : options;
  if (strcspn(connection->program, " '\"\\$&;|<>()`*?[]{}~#\n\t") == strlen(connection->program)) {
    strvec_push(&child->args, connection->program);
    strvec_pushv(&child->args, shown);
    strvec_push(&child->args, connection->target);
    return;
  }
  struct strbuf command = STRBUF_INIT;
  strbuf_addstr(&command, connection->program);
  for (; *shown; shown++) strbuf_addf(&command, " %s", *shown);
  strbuf_addch(&command, ' ');
  sq_quote_buf(&command, connection->target);
  child->use_shell = 1;
  strvec_push(&child->args, command.buf);
  strbuf_release(&command);
}

static void local_turn(struct connection *connection, int in, int out)
{
  struct child_process child = CHILD_PROCESS_INIT;
  for (const char *const *name = local_repo_env; *name; name++) strvec_push(&child.env, *name);
  if (connection->version) strvec_pushf(&child.env, GIT_PROTOCOL_ENVIRONMENT "=version=%d", connection->version);
  local_command(connection, &child);
  if (in < 0) child.no_stdin = 1;
  else child.in = in;
  child.out = fcntl(out, F_DUPFD_CLOEXEC, 3);
  connection->status = run_command(&child);
}

/* A repository behind HTTP: curl sends the requests, so the rules of the sandbox's network apply. */

struct answer {
  int status;
  struct strbuf type, url;
};

static int collect_header(const char *name, const char *value, const struct config_context *context, void *headers)
{
  if (strcmp(name, "http.extraheader")) return 0;
  if (!value) return config_error_nonbool(name);
  if (*value) strvec_push(headers, value);
  else strvec_clear(headers);
  return 0;
}

/* The headers that the configuration has for this URL. */
static void extra_headers(const char *url, struct strvec *headers)
{
  struct urlmatch_config config = URLMATCH_CONFIG_INIT;
  char *normal = url_normalize(url, &config.url);
  config.section = "http";
  config.collect_fn = collect_header;
  config.cb = headers;
  repo_config(the_repository, urlmatch_config_entry, &config);
  free(normal);
  urlmatch_config_release(&config);
}

static void add_headers(struct connection *connection, struct strvec *args, const char *service)
{
  struct strvec headers = STRVEC_INIT;
  if (connection->version) strvec_pushf(&headers, "Git-Protocol: version=%d", connection->version);
  if (connection->turns) {
    strvec_pushf(&headers, "Content-Type: application/x-%s-request", service);
    strvec_pushf(&headers, "Accept: application/x-%s-result", service);
  }
  extra_headers(connection->target, &headers);
  for (size_t i = 0; i < headers.nr; i++) strvec_pushl(args, "-H", headers.v[i], NULL);
  if (connection->credential.username && connection->credential.password) {
    strvec_push(args, "-u");
    strvec_pushf(args, "%s:%s", connection->credential.username, connection->credential.password);
  }
  strvec_clear(&headers);
}

static void request(struct connection *connection, int in, const char *body, struct answer *answer)
{
  struct child_process curl = CHILD_PROCESS_INIT;
  struct strbuf facts = STRBUF_INIT;
  const char *service = connection->program;
  strvec_pushl(&curl.args, "/usr/bin/curl", "-sSg", "-A", git_user_agent(), "-o", body, "-w",
               "%{http_code}\n%{content_type}\n%{url_effective}", NULL);
  add_headers(connection, &curl.args, service);
  if (connection->turns) {
    strvec_pushl(&curl.args, "--data-binary", "@-", NULL);
    strvec_pushf(&curl.args, "%s/%s", connection->target, service);
    curl.in = in;
  } else {
    strvec_push(&curl.args, "-L");
    strvec_pushf(&curl.args, "%s/info/refs?service=%s", connection->target, service);
    curl.no_stdin = 1;
  }
  if (capture_command(&curl, &facts, 0)) die(_("unable to access '%s/'"), connection->target);
  struct strbuf **lines = strbuf_split_max(&facts, '\n', 3);
  answer->status = atoi(lines[0]->buf);
  strbuf_addbuf(&answer->type, lines[1]);
  strbuf_rtrim(&answer->type);
  strbuf_addbuf(&answer->url, lines[2]);
  strbuf_list_free(lines);
  strbuf_release(&facts);
}

/* Whether the request is to be sent again, with credentials. */
static int authenticates(struct connection *connection, const struct answer *answer)
{
  struct credential *credential = &connection->credential;
  if (answer->status != 401) {
    if (answer->status == 200) credential_approve(the_repository, credential);
    return 0;
  }
  if (credential->username && credential->password) {
    credential_reject(the_repository, credential);
    die(_("Authentication failed for '%s/'"), connection->target);
  }
  credential_fill(the_repository, credential, 0);
  return 1;
}

static void check_answer(struct connection *connection, struct answer *answer)
{
  const char *service = connection->program, *url = connection->target;
  struct strbuf suffix = STRBUF_INIT, type = STRBUF_INIT;
  if (answer->status == 404) die(_("repository '%s/' not found"), url);
  if (answer->status != 200)
    die(_("unable to access '%s/': The requested URL returned error: %d"), url, answer->status);
  strbuf_addf(&type, "application/x-%s-%s", service, connection->turns ? "result" : "advertisement");
  if (strcmp(answer->type.buf, type.buf)) die(_("'%s/' is no repository of git's smart HTTP protocol"), url);
  strbuf_addf(&suffix, "/info/refs?service=%s", service);
  if (!connection->turns && strbuf_strip_suffix(&answer->url, suffix.buf)) {
    free(connection->target);
    connection->target = strbuf_detach(&answer->url, NULL);
  }
  strbuf_release(&suffix);
  strbuf_release(&type);
}

/* Passes the body on, without the line that names the service. */
static void pass_body(int body, int out)
{
  char head[64] = "";
  const char *line = head + 4;
  off_t start = 0;
  if (pread_in_full(body, head, sizeof(head) - 1, 0) > 4 && starts_with(line, "# service=")) {
    head[4] = 0;
    start = strtol(head, NULL, 16) + strlen("0000");
  }
  if (lseek(body, start, SEEK_SET) < 0 || copy_fd(body, out)) die_errno("cannot read the answer of the server");
}

static void http_turn(struct connection *connection, int in, int out)
{
  struct answer answer;
  struct tempfile *body = xmks_tempfile("/tmp/git-http-XXXXXX");
  do {
    answer = (struct answer){0, STRBUF_INIT, STRBUF_INIT};
    if (in >= 0) lseek(in, connection->sent, SEEK_SET);
    request(connection, in < 0 ? 0 : fcntl(in, F_DUPFD_CLOEXEC, 3), get_tempfile_path(body), &answer);
  } while (authenticates(connection, &answer));
  check_answer(connection, &answer);
  int reader = xopen(get_tempfile_path(body), O_RDONLY | O_CLOEXEC);
  pass_body(reader, out);
  close(reader);
  delete_tempfile(&body);
  strbuf_release(&answer.type);
  strbuf_release(&answer.url);
}

/* Turns. */

static int take_turn(int out, void *data)
{
  struct connection *connection = data;
  int is_first = !connection->turns && !is_archive(connection);
  off_t end = lseek(connection->requests, 0, SEEK_END);
  if (!is_first && end == connection->sent) return 0;
  int in = is_first ? -1 : connection->requests;
  if (in >= 0) lseek(in, connection->sent, SEEK_SET);
  if (is_http_url(connection->target)) http_turn(connection, in, out);
  else local_turn(connection, in < 0 ? in : fcntl(in, F_DUPFD_CLOEXEC, 3), out);
  connection->turns++;
  if (!is_first) connection->sent = end;
  return 1;
}

/* Takes user and password out of an HTTP URL. */
static char *plain_url(const char *url, struct credential *credential)
{
  const char *host = strstr(url, "://") + 3;
  const char *at = memchr(host, '@', strcspn(host, "/?#"));
  size_t length = strlen(url);
  credential_from_url(credential, url);
  while (length && url[length - 1] == '/') length--;
  if (!at) return xmemdupz(url, length);
  return xstrfmt("%.*s%.*s", (int)(host - url), url, (int)(url + length - at - 1), at + 1);
}

struct child_process *exchange_start(int fd[2], const char *program, const char *target, int version)
{
  struct connection *connection = xcalloc(1, sizeof(*connection));
  child_process_init(&connection->process);
  credential_init(&connection->credential);
  connection->program = xstrdup(program);
  connection->target = is_http_url(target) ? plain_url(target, &connection->credential) : xstrdup(target);
  connection->version = version;
  connection->answers = open_supply(take_turn, connection, &fd[0]);
  fd[1] = open_scratch(&connection->requests);
  connection->next = connections;
  connections = connection;
  return &connection->process;
}

int exchange_finish(struct child_process *process, int *status)
{
  struct connection **at = &connections, *connection;
  while (*at && &(*at)->process != process) at = &(*at)->next;
  if (!(connection = *at)) return 0;
  *at = connection->next;
  *status = connection->status;
  close_supply(connection->answers);
  close(connection->requests);
  child_process_clear(&connection->process);
  credential_clear(&connection->credential);
  free(connection->program);
  free(connection->target);
  free(connection);
  return 1;
}

/* There are no sockets and no terminal. */

static int refuse(void)
{
  errno = ENOSYS;
  return -1;
}

char *getpass(const char *prompt)
{
  errno = ENXIO;
  return NULL;
}

int socket(int domain, int type, int protocol) { return refuse(); }
int connect(int fd, const struct sockaddr *address, socklen_t size) { return refuse(); }
int setsockopt(int fd, int level, int name, const void *value, socklen_t size) { return refuse(); }
int shutdown(int fd, int how) { return refuse(); }
struct hostent *gethostbyname(const char *name) { return NULL; }
