/**
 * The messages between this process and one that runs workers. Shared memory does not cross processes: bytes are copied,
 * and images are sent without the files of the installation, which the other process reads itself. Messages from that
 * process are not trusted and have to match a schema.
 */
import * as z from 'zod';
import { programFacts } from '../../analysis/program-facts.ts';
import { runProfile } from '../../analysis/run-profile-schema.ts';
import { ERROR_CODES, type ErrorCode } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import { isWorkspacePath } from '../../fs/file-names.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import type { PackedEdit } from '../../fs/packed-edit.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import { isMemoryLayer, memoryLayer } from '../../host/shared-layer.ts';
import { MAX_IMPORT_NAME, MAX_IMPORTS } from '../../kernel/module-import-log.ts';
import { MAX_PACKAGE_NAMES } from '../../kernel/package-finder.ts';
import { RESULT_LIMITS } from '../../results/result-limits.ts';
import {
  type GuestAssets,
  isExtensionOf,
  layersDigest,
  type PreparedLibrary,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import { QUOTA_LIMITS } from '../../schema/workspace-quota.ts';
import {
  displayResult,
  type GuestReport,
  guestReport,
  type RuntimeName,
  stoppedAt,
  TRAPS,
} from '../../schema.ts';
import {
  MAX_CALLED_NAME_CHARACTERS,
  MAX_REASON_CHARACTERS,
  MAX_REQUEST_ARGUMENT_BYTES,
  MAX_TOOL_CALLS,
} from '../../tools/tool-limits.ts';
import {
  type ExtendedImage,
  type FromWorker,
  IMAGE_REQUEST,
  NO_JOB,
  type SentJob,
  type ToWorker,
} from '../protocol/messages.ts';
import { isWithinLimits } from '../protocol/parse-guest-report.ts';

/** What an image adds to the boot image of its runtime. */
export interface PortableExtension extends Pick<ExtendedImage, 'origin' | 'image' | 'minMemoryBytes'> {
  readonly addedLayers: readonly {
    readonly at: string;
    readonly index: Uint8Array;
    readonly data: Uint8Array;
  }[];
}

/** An image that the other process can load. Without `extension` it is a boot image. */
export interface PortableImage {
  readonly id: string;
  readonly runtime: RuntimeName;
  readonly extension: (PortableExtension & Pick<GuestAssets, 'libraries'>) | undefined;
}

export function toPortableImage({ id, runtime, image, ...assets }: GuestAssets): PortableImage {
  if (id === runtime) return { id, runtime, extension: undefined };
  // The other process reads an image that is a file of the installation itself.
  const sent = { ...assets, image: image.path === '' ? image.bytes : undefined };
  return { id, runtime, extension: { ...toPortableExtension(sent), libraries: assets.libraries } };
}

export function toPortableExtension({
  origin,
  image,
  minMemoryBytes,
  layers,
}: ExtendedImage): PortableExtension {
  const addedLayers = layers
    .filter(isMemoryLayer)
    .map(({ at, head, data }) => ({ at, index: head.bytes, data }));
  return { origin, image, minMemoryBytes, addedLayers };
}

/** `base` is the boot image. Bytes are copied to shared memory. Returns undefined for an extension of another image. */
export function fromPortableExtension(
  base: GuestAssets,
  extension: PortableExtension,
): ExtendedImage | undefined {
  const { origin, image, minMemoryBytes, addedLayers } = extension;
  const added = addedLayers.map(({ at, index, data }) => memoryLayer(at, toShared(index), toShared(data)));
  const layers = [...base.layers, ...added];
  if (!isExtensionOf(base, origin)) return undefined;
  return { origin, image: image && toShared(image), minMemoryBytes, layers };
}

/** Whether an image names exactly its layers, as every image does that was just built. Without memory, it is that of the base. */
export const isNewImageOf = (base: GuestAssets, { origin, image, layers }: ExtendedImage): boolean =>
  origin.layers === (image === undefined ? base.origin.layers : layersDigest(layers));

/** A message that a thread gets as it was sent. */
type ForwardedMessage = Exclude<ToWorker, { readonly type: 'load' }>;

export type ToIsolated =
  | { readonly type: 'start'; readonly thread: number }
  | { readonly type: 'terminate'; readonly thread: number }
  | { readonly type: 'cancel'; readonly thread: number; readonly job: number }
  | { readonly type: 'load'; readonly thread: number; readonly image: string }
  | { readonly type: 'send'; readonly thread: number; readonly message: ForwardedMessage }
  /** Adds an image that `load` can name. */
  | { readonly type: 'image'; readonly image: PortableImage }
  /** Removes an image; threads that loaded it keep it. */
  | { readonly type: 'forget'; readonly image: string }
  | { readonly type: 'yield'; readonly isWanted: boolean };

type WithExtension = { readonly type: 'extended' };

export type FromIsolated =
  | {
      readonly type: 'message';
      readonly thread: number;
      readonly message: Exclude<FromWorker, WithExtension>;
    }
  | {
      readonly type: 'extended';
      readonly thread: number;
      readonly id: number;
      readonly extension: PortableExtension;
    }
  | { readonly type: 'exit'; readonly thread: number }
  /** The program of a run has started. */
  | { readonly type: 'started'; readonly thread: number; readonly job: number }
  | { readonly type: 'fuel'; readonly thread: number; readonly spent: number };

export const shareLibraries = (libraries: readonly PreparedLibrary[]): PreparedLibrary[] =>
  libraries.map(({ sha256, prepared }) => ({ sha256, prepared: toShared(prepared) }));

const shareEntries = (entries: readonly Entry[]): Entry[] =>
  entries.map((entry) => (entry.data === undefined ? entry : { ...entry, data: toShared(entry.data) }));

const shareEdit = (packed: PackedEdit): PackedEdit =>
  packed.map(({ rows, small, large }) => ({ rows, small: toShared(small), large: large.map(toShared) }));

/** Copies the bytes of a received job to shared memory of their own, so that threads get them without another copy. */
export function shareJob(job: SentJob): SentJob {
  if (job.type !== 'extend' && job.type !== 'run') return job;
  if (job.type === 'extend')
    return { ...job, packages: shareEntries(job.packages), libraries: shareLibraries(job.libraries) };
  const { session, workspace } = job;
  return {
    ...job,
    stdin: toShared(job.stdin),
    workspace: workspace && { ...workspace, edit: shareEdit(workspace.edit) },
    mountSet: {
      ...job.mountSet,
      mounts: job.mountSet.mounts.map((mount) => ({ ...mount, entries: shareEntries(mount.entries) })),
    },
    session: session && {
      ...session,
      delta: session.delta?.map(toShared),
      tmp: shareEdit(session.tmp),
      edits: shareEdit(session.edits),
    },
  };
}

/** The copy in shared memory belongs to one object and does not keep the whole message alive. */
const bytes = z.instanceof(Uint8Array).transform(toShared);
const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
/** Texts of this package, such as error messages. */
const text = z.string().max(64 * 1024);
/** Negative for calls of child processes. */
const toolRequestId = z.int();
const responseNumber = toolRequestId.min(0);
const toolRequests = [
  z.strictObject({
    type: z.literal('tool_call'),
    id: toolRequestId,
    name: z.string().max(MAX_CALLED_NAME_CHARACTERS),
    arguments: z.string().max(MAX_REQUEST_ARGUMENT_BYTES),
    problem: text.optional(),
  }),
  z.strictObject({ type: z.literal('tool_resume'), id: responseNumber }),
  z.strictObject({ type: z.enum(['network_read', 'network_close']), handle: responseNumber }),
  z.strictObject({
    type: z.literal('tool_withdraw'),
    ids: z.array(toolRequestId).max(MAX_TOOL_CALLS),
    reason: z.string().max(MAX_REASON_CHARACTERS),
  }),
] as const;
const path = z.string().refine(isWorkspacePath);
/** The rows are checked when they are unpacked. */
const edit = z.array(z.strictObject({ rows: z.string(), small: bytes, large: z.array(bytes) }));
const usage = z.strictObject({ bytes: count, files: count });
const outcome = z.strictObject({
  state: z.enum(['fresh', 'committed', 'rolled_back']),
  isPaused: z.boolean().optional(),
  isImportInterrupted: z.boolean().optional(),
  toolWaitMs: count.optional(),
  trap: z
    .strictObject({ reason: z.enum(Object.keys(TRAPS) as [keyof typeof TRAPS]), detail: text })
    .optional(),
  report: z
    .custom<object>((report) => isWithinLimits((report as GuestReport | null)?.result))
    .pipe(guestReport)
    .optional(),
  fuelConsumed: count,
  chartFuel: count,
  memoryUsedBytes: count,
  durationMs: count,
  yieldedMs: count,
  stdout: z.string(),
  stderr: z.string(),
  stdoutDroppedBytes: count,
  stderrDroppedBytes: count,
  changes: z.strictObject({
    created: z.array(path),
    modified: z.array(path),
    deleted: z.array(path),
    edit,
  }),
  filesOmitted: count,
  otherUsage: usage,
  exceededQuota: z.enum(QUOTA_LIMITS).optional(),
  profile: runProfile.optional(),
  program: programFacts.optional(),
  stoppedAt: stoppedAt.optional(),
  imports: z
    .array(z.strictObject({ name: z.string().max(MAX_IMPORT_NAME), fuel: count, cached: z.boolean() }))
    .max(MAX_IMPORTS),
  resultsOmitted: count,
  declared: z.array(z.string()),
});
/** A folder of the guest outside those that programs can write to. */
const layerPath = text.regex(/^(\/\w[\w.-]{0,63}){2,8}$/).refine((at) => !/^\/(app|tmp)\//.test(at));
const extension = z.strictObject({
  origin: z.strictObject({ runtime: text, module: text, layers: text }),
  image: bytes.optional(),
  minMemoryBytes: count,
  addedLayers: z.array(z.strictObject({ at: layerPath, index: bytes, data: bytes })).max(1),
});
const diff = z
  .strictObject({ bytes, sha256: text })
  .refine((received) => sha256Hex(received.bytes) === received.sha256);
const saved = z.strictObject({
  deltaHeader: bytes,
  keptParts: z.number().int().min(0),
  newParts: z.array(diff),
  tmp: edit,
  evicted: z.array(text),
});
/** The text of a form. An image in base64 is longer than its bytes, by a third. */
const form = z
  .string()
  .max(RESULT_LIMITS.formBytes * 1.4)
  .optional();
const displayed = displayResult
  .extend({ path: path.optional(), note: text.optional(), omitted: z.array(text).max(100).optional() })
  .extend({ text: form, html: form, markdown: form, svg: form, png: form, jpeg: form, latex: form })
  .extend({ json: form, data: form, chart: form, id: text, mime: text })
  .strict();
const id = z.number().int();
const share = z.number().min(0);
const edge = z.number().int().min(1).max(RESULT_LIMITS.imageEdge);
const picture = z.union([
  z.strictObject({ image: bytes, width: edge, height: edge }),
  z.strictObject({ problem: text }),
]);
const fromWorker = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output'),
    id,
    stream: z.union([z.literal(1), z.literal(2)]),
    bytes: z.instanceof(Uint8Array),
  }),
  z.strictObject({
    type: z.literal('result'),
    id,
    result: displayed,
  }),
  z.strictObject({
    type: z.literal('request'),
    id,
    number: count,
    request: z.union([
      z.strictObject({ type: z.enum(['stdin', 'drain']) }),
      z.strictObject({
        type: z.literal('image'),
        question: z.strictObject({
          code: z.string().max(IMAGE_REQUEST.characters),
          names: z.array(z.string()).max(IMAGE_REQUEST.names),
        }),
        used: share,
      }),
      z.strictObject({
        type: z.literal('packages'),
        kind: z.enum(['module', 'requirement']),
        names: z.array(text).max(MAX_PACKAGE_NAMES),
        used: share,
      }),
      ...toolRequests,
    ]),
  }),
  z.strictObject({
    type: z.literal('done'),
    id,
    outcome,
    results: z.array(displayed).max(RESULT_LIMITS.count),
  }),
  z.strictObject({ type: z.literal('saved'), id, saved }),
  z.strictObject({ type: z.literal('picture'), id, picture }),
  z.strictObject({
    type: z.literal('failed'),
    id,
    code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode]),
    message: text,
  }),
  z.strictObject({ type: z.literal('optimized'), id: z.literal(NO_JOB), image: text, programs: count }),
]);
const thread = z.number().int();
const fromIsolated = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('message'), thread, message: fromWorker }),
  z.strictObject({ type: z.literal('extended'), thread, id, extension }),
  z.strictObject({ type: z.literal('exit'), thread }),
  z.strictObject({ type: z.literal('started'), thread, job: id }),
  z.strictObject({ type: z.literal('fuel'), thread, spent: count }),
]);

/** Returns undefined for a message that a process of this version does not send. */
export function parseFromIsolated(message: unknown): FromIsolated | undefined {
  try {
    return fromIsolated.safeParse(message).data as FromIsolated | undefined;
  } catch {
    // Nesting that exceeds the stack.
    return undefined;
  }
}
