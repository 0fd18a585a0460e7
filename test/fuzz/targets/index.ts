/** All fuzz targets. */
import type { FuzzTarget } from '../target.ts';
import { bundleReader } from './bundle-reader.ts';
import { deltaReader } from './delta-reader.ts';
import { guidance } from './guidance.ts';
import { imageReader } from './image-reader.ts';
import { liveKernel } from './live-kernel.ts';
import { liveSessions } from './live-sessions.ts';
import { mcpRequests } from './mcp-requests.ts';
import { pathResolution } from './path-resolution.ts';
import { processCalls } from './processes.ts';
import { quickJsAgainstNode } from './quickjs-against-node.ts';
import { requestedUrls } from './requested-urls.ts';
import { sessionReader } from './session-reader.ts';
import { sideModules } from './side-modules.ts';
import { syscallsJavaScript } from './syscalls-javascript.ts';
import { syscallsPython } from './syscalls-python.ts';
import { wasmMetering } from './wasm-metering.ts';
import { wasmReader } from './wasm-reader.ts';

export const TARGETS: readonly FuzzTarget[] = [
  wasmReader,
  wasmMetering,
  sideModules,
  syscallsPython,
  syscallsJavaScript,
  processCalls,
  pathResolution,
  requestedUrls,
  quickJsAgainstNode,
  imageReader,
  deltaReader,
  bundleReader,
  sessionReader,
  guidance,
  liveKernel,
  liveSessions,
  mcpRequests,
];
