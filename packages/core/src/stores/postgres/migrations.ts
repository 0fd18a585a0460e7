/**
 * The tables of the store, as a list of migrations. The first creates the tables of the first release. A migration is never
 * changed once it is released. If earlier releases can work with a later one, it names the oldest of them, so that replicas of
 * two releases can share a database during an upgrade.
 *
 *   tenants          bytes that the objects of a tenant occupy
 *   sessions         the manifest of each session (format/session-codec.ts) and the id of its last commit
 *   objects          names and sizes of objects; chunks has their bytes
 *   session_objects  the objects that each session references; objects without a reference are garbage
 *   leases           the writer of each session, with a fencing token that increases with every new writer
 *   lease_waiters    the processes that wait for a lease, in the order of their tickets
 *   cached_values    outputs and results of recent calls, which any server can return
 *   cancellations    requests to cancel the programs of a session, for the servers that run them
 *   approval_rounds  questions to a person, with the answers that other servers have received
 *   signing_keys     the key with which servers sign the states of these questions
 *   session_blobs    what the playground shows of each session
 *   sandboxes        what clients of E2B have set for each sandbox, which is a session
 *   rate_limits      what each tenant has used in the current minute; the columns are those of rate-limiter-flexible
 */
interface Migration {
  /** The oldest version of the tables that a release must know to work with the tables after this migration. */
  readonly compatibleWith: number;
  readonly sql: string;
}

/** Version n of the tables is what the first n migrations create. The search path is the schema of the store. */
export const MIGRATIONS: readonly Migration[] = [
  {
    compatibleWith: 1,
    sql: `
      CREATE TABLE tenants (
        tenant text PRIMARY KEY,
        bytes bigint NOT NULL DEFAULT 0
      );
      CREATE TABLE sessions (
        tenant text NOT NULL,
        id text COLLATE "C" NOT NULL,
        commit_id uuid NOT NULL,
        manifest bytea NOT NULL,
        last_used_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, id)
      );
      CREATE UNIQUE INDEX sessions_by_folded_id ON sessions (tenant, lower(id));
      CREATE INDEX sessions_by_last_use ON sessions (tenant, last_used_at);
      CREATE TABLE objects (
        tenant text NOT NULL,
        name text COLLATE "C" NOT NULL,
        bytes bigint NOT NULL,
        PRIMARY KEY (tenant, name)
      );
      CREATE TABLE chunks (
        tenant text NOT NULL,
        name text COLLATE "C" NOT NULL,
        position int NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, name, position),
        FOREIGN KEY (tenant, name) REFERENCES objects ON DELETE CASCADE
      );
      ALTER TABLE chunks ALTER COLUMN data SET STORAGE EXTERNAL;
      CREATE TABLE session_objects (
        tenant text NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        PRIMARY KEY (tenant, session_id, name),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions ON DELETE CASCADE,
        FOREIGN KEY (tenant, name) REFERENCES objects
      );
      CREATE INDEX session_objects_by_name ON session_objects (tenant, name);
      CREATE TABLE leases (
        tenant text NOT NULL,
        folded_id text COLLATE "C" NOT NULL,
        fencing_token bigint NOT NULL,
        owner uuid NOT NULL,
        holder text NOT NULL,
        since timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, folded_id)
      ) WITH (fillfactor = 70);
      CREATE SEQUENCE fencing_tokens;
      CREATE TABLE lease_waiters (
        tenant text NOT NULL,
        folded_id text COLLATE "C" NOT NULL,
        owner uuid NOT NULL,
        ticket bigint GENERATED ALWAYS AS IDENTITY,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, folded_id, owner)
      );
      CREATE TABLE cached_values (
        tenant text NOT NULL,
        key text COLLATE "C" NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY,
        value bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant, key)
      );
      ALTER TABLE cached_values ALTER COLUMN value SET STORAGE EXTERNAL;
      CREATE TABLE rate_limits (
        key varchar(255) PRIMARY KEY,
        points integer NOT NULL DEFAULT 0,
        expire bigint
      );
      CREATE TABLE cancellations (
        tenant text NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        requested_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id)
      );
      CREATE INDEX cached_values_by_age ON cached_values (created_at);
      CREATE TABLE approval_rounds (
        round uuid PRIMARY KEY,
        tenant text NOT NULL,
        run uuid NOT NULL,
        request text NOT NULL,
        answer text,
        outcome text,
        is_cancelled boolean NOT NULL DEFAULT false,
        seen_at timestamptz NOT NULL
      );
      CREATE INDEX approval_rounds_by_age ON approval_rounds (tenant, seen_at);
      CREATE TABLE signing_keys (
        name text PRIMARY KEY,
        key bytea NOT NULL
      );
      CREATE TABLE session_blobs (
        tenant text NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        value bytea NOT NULL,
        written_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant, session_id)
      );
      ALTER TABLE session_blobs ALTER COLUMN value SET STORAGE EXTERNAL;
      CREATE TABLE sandboxes (
        tenant text NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        value bytea NOT NULL,
        written_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant, session_id)
      );
    `,
  },
];
