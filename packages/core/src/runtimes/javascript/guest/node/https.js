/** The module `https`. Servers are not available. */
import { withClient } from './internal/http-client.js';
import { createModule } from './internal/unavailable.js';

export default withClient('https', createModule('https'));
