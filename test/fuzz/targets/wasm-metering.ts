/** Generated modules: the metered module charges what the reference interpreter counts and computes the same. */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { generate } from '../../wasm/module-generator.ts';
import { Interpreter } from '../../wasm/reference-interpreter.ts';
import { AMPLE_FUEL, execute } from '../../wasm/run-module.ts';
import type { FuzzTarget } from '../target.ts';

// Tail calls are behind a flag in Node 20.
setFlagsFromString('--experimental-wasm-return-call');

export const wasmMetering: FuzzTarget = {
  name: 'wasm-metering',
  shortRuns: 300,
  open() {
    const outcomes = { thrown: 0, returned: 0 };
    const tape = fc.array(fc.nat(999), { minLength: 20, maxLength: 600 });
    const args = fc.tuple(fc.integer({ min: -100, max: 300 }), fc.integer({ min: -100, max: 300 }));
    const slice = fc.constantFrom(AMPLE_FUEL, 1n, 25n, 1000n);
    const property = fc.property(tape, args, slice, (choices, values, fuel) => {
      const source = generate(choices);
      const expected = new Interpreter(source).run('run', values);
      const metered = execute(source, values, true, fuel);
      assert.equal(metered.result, expected.result);
      assert.equal(metered.fuel, expected.fuel);
      assert.deepEqual(metered.probes, expected.probes);
      assert.equal(Buffer.compare(metered.memory, expected.memory), 0);
      assert.equal(execute(source, values, false, AMPLE_FUEL).result, expected.result);
      outcomes[expected.result === 'thrown' ? 'thrown' : 'returned']++;
    });
    return {
      property,
      checkCoverage: () =>
        assert.ok(outcomes.thrown > 10 && outcomes.returned > 100, JSON.stringify(outcomes)),
    };
  },
};
