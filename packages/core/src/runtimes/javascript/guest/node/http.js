/** The module `http`. Servers are not available. */
import { withClient } from './internal/http-client.js';
import { createModule } from './internal/unavailable.js';

export default withClient('http', createModule('http'));
