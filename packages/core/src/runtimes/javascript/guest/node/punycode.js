/** The module `punycode`, which Node.js takes from the package of this name. */
import punycode from 'punycode/punycode.es6.js';

export default punycode;
