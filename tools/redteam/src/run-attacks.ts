/**
 * Runs attacks against this installation and reports a verdict for each. Programs run side by side; attacks on the
 * server and on host memory run alone, because they measure this process.
 */
import { availableParallelism } from 'node:os';
import { RUNTIME_NAMES } from '@llm-wasm-sandbox/core/internal';
import type {
  Attack,
  AttackedServer,
  ExpressionAttack,
  HostAttack,
  PackageAttack,
  ProgramAttack,
  ScenarioAttack,
  ServerAttack,
  SessionAttack,
  ToolAttack,
  Verdict,
} from './attack.ts';
import { runHostAttacks } from './run-host-attacks.ts';
import { runPackageAttack } from './run-package-attacks.ts';
import { runExpressions, runProgramAttack } from './run-program-attacks.ts';
import { runScenario } from './run-scenarios.ts';
import { TargetServer } from './run-server-attacks.ts';
import { runSessionAttack } from './run-session-attacks.ts';
import { runToolAttack } from './run-tool-attacks.ts';
import { Surroundings } from './surroundings.ts';

const MiB = 1024 * 1024;
/** Expressions that share a guest. */
const BATCH_SIZE = 40;
const SAMPLE_MS = 10;
/** An attack that takes longer counts as a hang. */
const MAX_ATTACK_MS = 90_000;

const isExpression = (attack: Attack): attack is Attack<ExpressionAttack> => 'evaluate' in attack;
const isServer = (attack: Attack): attack is Attack<ServerAttack> => 'requests' in attack;
const isSession = (attack: Attack): attack is Attack<SessionAttack> => 'steps' in attack;
const callsTools = (attack: Attack): attack is Attack<ToolAttack> => 'callsTools' in attack;
const addsPackage = (attack: Attack): attack is Attack<PackageAttack> => 'wheel' in attack;
const isHost = (attack: Attack): attack is Attack<HostAttack> => attack.category === 'host';
const isScenario = (attack: Attack): attack is Attack<ScenarioAttack> => 'attack' in attack;
const runsAlone = (attack: Attack) => attack.category === 'host_memory' || isScenario(attack);

/** Runs all attacks and reports each verdict as soon as it is known. The verdicts are in the order of the attacks. */
export async function runAttacks(
  attacks: readonly Attack[],
  server: AttackedServer,
  onVerdict: (verdict: Verdict) => void = () => {},
): Promise<Verdict[]> {
  const verdicts = new Map<Attack, Verdict>();
  const record = (verdict: Verdict) => {
    verdicts.set(verdict.attack, verdict);
    onVerdict(verdict);
  };
  const surroundings = await Surroundings.create();
  try {
    const servers = attacks.filter(isServer);
    const alone = attacks.filter(runsAlone);
    const host = attacks.filter(isHost);
    const side = attacks.filter((attack) => !isServer(attack) && !isHost(attack) && !runsAlone(attack));
    await sideBySide([
      () => judgeBatch(host, () => runHostAttacks(host, server, surroundings), record),
      ...batches(side.filter(isExpression)).map(
        (batch) => () =>
          judgeBatch(batch, () => runExpressions(batch[0]!.runtime!, batch, surroundings), record),
      ),
      ...side
        .filter((attack) => !isExpression(attack))
        .map((attack) => async () => record(await judge(attack, () => runOne(attack, surroundings)))),
    ]);
    if (servers.length > 0)
      await judgeServer(servers, () => TargetServer.start(server, surroundings), record);
    for (const attack of alone)
      record(
        await judge(attack, () =>
          withMemory(attack, () =>
            isScenario(attack) ? runScenario(attack, server, surroundings) : runOne(attack, surroundings),
          ),
        ),
      );
  } finally {
    await surroundings.close();
  }
  return attacks.map((attack) => verdicts.get(attack)!);
}

function runOne(attack: Attack, surroundings: Surroundings): Promise<string[]> {
  if (callsTools(attack)) return runToolAttack(attack, surroundings);
  if (addsPackage(attack)) return runPackageAttack(attack, surroundings);
  return isSession(attack)
    ? runSessionAttack(attack, surroundings)
    : runProgramAttack(attack as Attack<ProgramAttack>, surroundings);
}

async function judge(attack: Attack, run: () => Promise<string[]>): Promise<Verdict> {
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve([`not finished after ${MAX_ATTACK_MS / 1000} s`]), MAX_ATTACK_MS);
  });
  // A call never throws because of what its program does.
  const problems = await Promise.race([run(), hang]).catch((cause) => [`the host threw ${describe(cause)}`]);
  clearTimeout(timer);
  return { attack, problems, durationMs: performance.now() - started };
}

async function judgeBatch(
  batch: readonly Attack[],
  run: () => Promise<string[][]>,
  record: (verdict: Verdict) => void,
): Promise<void> {
  const started = performance.now();
  const problems = await run().catch((cause) => batch.map(() => [`the host threw ${describe(cause)}`]));
  const durationMs = (performance.now() - started) / batch.length;
  for (const [i, attack] of batch.entries()) record({ attack, problems: problems[i]!, durationMs });
}

async function judgeServer(
  attacks: readonly Attack<ServerAttack>[],
  start: () => Promise<TargetServer>,
  record: (verdict: Verdict) => void,
): Promise<void> {
  const server = await start();
  try {
    for (const attack of attacks) record(await judge(attack, () => server.run(attack)));
  } finally {
    await server.close();
  }
}

/** Adds a problem if the resident memory of this process grows by more than the attack may cause. */
async function withMemory(attack: Attack, run: () => Promise<string[]>): Promise<string[]> {
  const { maxGrowthBytes } = attack as Attack<ProgramAttack>;
  const before = process.memoryUsage.rss();
  let peak = before;
  const sample = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    const problems = await run();
    sample();
    const grown = peak - before;
    if (maxGrowthBytes === undefined || grown <= maxGrowthBytes) return problems;
    const limit = Math.round(maxGrowthBytes / MiB);
    return [...problems, `resident memory grew by ${Math.round(grown / MiB)} MiB; the limit is ${limit} MiB`];
  } finally {
    clearInterval(timer);
  }
}

/** Expressions of one runtime, a few dozen at a time. */
function batches(attacks: readonly Attack<ExpressionAttack>[]): Attack<ExpressionAttack>[][] {
  return RUNTIME_NAMES.flatMap((runtime) => {
    const own = attacks.filter((attack) => attack.runtime === runtime);
    return Array.from({ length: Math.ceil(own.length / BATCH_SIZE) }, (_, i) =>
      own.slice(i * BATCH_SIZE, (i + 1) * BATCH_SIZE),
    );
  });
}

async function sideBySide(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const queue = tasks.values();
  const worker = async () => {
    for (const task of queue) await task();
  };
  // One more than there are cores, because attacks also wait: for tools, processes and time limits.
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) + 1 }, worker));
}

const describe = (cause: unknown) =>
  cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
