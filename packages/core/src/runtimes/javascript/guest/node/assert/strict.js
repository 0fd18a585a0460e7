/** The module `assert/strict`. */
import assert from '../assert.js';

export default assert.strict;
