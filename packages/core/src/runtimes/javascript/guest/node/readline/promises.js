/** The module `readline/promises`. */
import readline from '../readline.js';

export default readline.promises;
