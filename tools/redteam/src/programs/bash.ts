/** What the red team runs in bash. */

import { quote } from '@llm-wasm-sandbox/core/internal';
import type { AttackPrograms, LimitProgram, RecursiveProgram } from './attack-programs.ts';

const limitPrograms: readonly LimitProgram[] = [
  { name: 'while-true', breaks: ['fuel', 'time'], code: 'while :; do :; done' },
  {
    name: 'ignore-signals',
    breaks: ['fuel', 'time'],
    code: "trap '' INT TERM ALRM XCPU EXIT; while :; do :; done",
  },
  { name: 'loop-in-exit-trap', breaks: ['fuel', 'time'], code: "trap 'while :; do :; done' EXIT; exit" },
  { name: 'loop-in-subshell', breaks: ['fuel', 'time'], code: '(while :; do :; done)' },
  { name: 'loop-in-substitution', breaks: ['fuel', 'time'], code: 'x=$(while :; do :; done)' },
  { name: 'loop-in-pipeline', breaks: ['fuel', 'time'], code: 'while :; do :; done | cat' },
  { name: 'loop-in-background', breaks: ['fuel', 'time'], code: 'while :; do :; done & echo started' },
  { name: 'loop-in-command', breaks: ['fuel', 'time'], code: "awk 'BEGIN { while (1) x++ }'" },
  {
    name: 'regular-expression',
    breaks: ['fuel', 'time'],
    code: 'x=$(printf "%0500d" 0); while :; do [[ $x =~ (0*)*1 ]]; done',
  },
  { name: 'fork-bomb', breaks: ['time'], code: ':() { : | : & }; :; while :; do :; done' },
  { name: 'subshells-forever', breaks: ['fuel', 'time'], code: 'while :; do (:); done; while :; do :; done' },
  { name: 'sleep', breaks: ['time'], code: 'sleep 100' },
  { name: 'sleep-in-background', breaks: ['time'], code: 'sleep 100 & wait' },
  { name: 'read-forever', breaks: ['fuel', 'time'], code: 'while :; do read -r x < /dev/zero -n 1; done' },
  { name: 'text-doubling', breaks: ['memory'], code: 'x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done' },
  {
    name: 'memory-of-command',
    breaks: ['memory'],
    code: 'awk \'BEGIN { x = "aaaaaaaa"; while (1) x = x x }\'; exit $?',
  },
  { name: 'print-forever', breaks: ['output', 'fuel', 'time'], code: 'while :; do echo spam; done' },
  { name: 'errors-forever', breaks: ['output', 'fuel', 'time'], code: 'while :; do echo spam >&2; done' },
  { name: 'zeros', breaks: ['output'], ends: true, code: 'head -c 3000000 /dev/zero' },
];

const recursion: Readonly<Record<string, RecursiveProgram>> = {
  functions: ['f() { f; }; f', 'finished'],
  evaluations: ['f() { eval f; }; f', 'finished', 2_000_000_000],
  sources: ['echo ". ./self" > self; . ./self', 'stack_overflow'],
  substitutions: ['for ((i = 0; i < 300; i++)); do x="\\${y:-$x}"; done; eval "echo $x"', 'finished'],
  subshells: ['f() { (f); }; f', 'process_limit', 2_000_000_000],
  arithmetic: ['x=x; echo $((x))', 'finished'],
};

export const bashAttackPrograms: AttackPrograms = {
  nextRun: 'echo "$- $# $? $(pwd) $(umask) $IFS" | tr -d "\\n"; declare -F; trap; echo $((1 + 1))',
  neighbour:
    'total=0; for ((i = 0; i < 3000; i++)); do total=$((total + i)); done; echo "$total $(cat own.txt)"',
  evaluator: (expressions) =>
    expressions
      .map(
        (text, i) => `printf '\\n[%d,%s]\\n' ${i} "$( (eval ${quote(text)}) 2>&1 | head -c 200 | jq -Rs .)"`,
      )
      .join('\n'),
  // Shell programs cannot call tools.
  toolProbe: 'echo "[1]"',
  limitPrograms,
  memory: { bytes: 24 * 1024 * 1024, outcomes: ['memory_limit', 'finished'] },
  longPrograms: { fuel: ':\n'.repeat(60_000), memory: 'x=1\n'.repeat(400_000) },
  recursion,
  recursionReferences: {},
};
