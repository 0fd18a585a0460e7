/** Public entry point `@llm-wasm-sandbox/server/jobs`: programs that other processes run. */
export { type JobQueue, type JobState, openJobQueue, type SubmittedJob } from './job-queue.ts';
export { runJobWorker } from './job-worker.ts';
