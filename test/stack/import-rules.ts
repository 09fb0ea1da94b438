import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { findHiddenInputs } from './hidden-inputs.ts';
import { type ImportRecord, parseModule } from './parse-module.ts';

export interface Verdict {
  /** The places that break a rule, as `file:line message`. */
  offences: string[];
  /** How many imports were looked at. */
  imports: number;
}

interface Rule {
  /** The layers that may be imported besides the own one; `adapters/*` stands for every adapter. */
  layers: readonly string[];
  /** The packages from outside that may be imported; without it all may but the drivers. `node:*` are the built-ins. */
  packages?: readonly string[];
}

// The layer table of CONTRIBUTING.md. A type-only import counts like any other: it is knowledge of the other layer too.
const rules: Record<string, Rule> = {
  domain: { layers: [], packages: [] },
  contracts: { layers: ['domain'], packages: ['zod'] },
  ports: { layers: ['domain', 'contracts'], packages: [] },
  recall: { layers: ['domain', 'ports'], packages: ['node:*'] },
  // What every adapter of a port would otherwise write again; it knows no driver.
  adapters: { layers: ['domain', 'ports'], packages: ['node:*'] },
  'adapters/*': { layers: ['domain', 'contracts', 'ports', 'adapters'] },
  runtime: { layers: ['domain', 'contracts', 'ports', 'recall', 'adapters/*', 'demo-model'] },
  testing: { layers: ['domain', 'contracts', 'ports', 'recall', 'adapters', 'adapters/*', 'runtime'] },
  'demo-model': { layers: [] },
  gateway: { layers: ['domain', 'contracts', 'ports', 'recall'] },
  'agent-worker': { layers: ['domain', 'contracts', 'ports', 'recall'] },
  'memory-worker': { layers: ['domain', 'contracts', 'ports', 'recall'] },
  'all-in-one': {
    layers: ['domain', 'contracts', 'ports', 'recall', 'gateway', 'agent-worker', 'memory-worker'],
  },
};

// Whose driver is whose. Nothing else imports one.
const drivers: Record<string, string> = {
  mongoose: 'adapters/mongoose',
  mongodb: 'adapters/mongoose',
  bullmq: 'adapters/bullmq',
  ioredis: 'adapters/bullmq',
  '@nats-io': 'adapters/nats',
  'node:sqlite': 'adapters/sqlite',
  openai: 'adapters/openai',
};

// Imports what an operator's configuration names; nothing else may import what is only known when it runs.
const operatorImports = 'packages/shared/src/runtime/load-hooks.ts';

// Here time, ids and randomness come through ports, so that a simulation can run them under a virtual clock.
const deterministicLayers = ['domain', 'contracts', 'ports', 'recall', 'agent-worker', 'memory-worker'];

/** Checks one module, given its path from the root of the repository. */
export function checkModule(file: string, source: string): Verdict {
  const layer = layerOf(file);
  const rule = layer === undefined ? undefined : ruleOf(layer);
  if (layer === undefined || rule === undefined) return { offences: [`${file}:1 belongs to no layer`], imports: 0 };
  const { imports, program, lineAt } = parseModule(file, source);
  const isMain = posix.basename(file) === 'main.ts';
  const offences: string[] = [];
  for (const record of imports) {
    const message = judgeImport(file, layer, isMain ? { ...rule, layers: [...rule.layers, 'runtime'] } : rule, record);
    if (message !== undefined) offences.push(`${file}:${record.line} ${message}`);
  }
  if (deterministicLayers.includes(layer) && !isMain) {
    for (const { start, name } of findHiddenInputs(program)) {
      offences.push(`${file}:${lineAt(start)} ${layer} uses ${name}: that comes through a port`);
    }
  }
  return { offences, imports: imports.length };
}

function judgeImport(file: string, layer: string, rule: Rule, { specifier }: ImportRecord): string | undefined {
  if (specifier === undefined) {
    return file === operatorImports ? undefined : 'imports something that is only known when it runs';
  }
  const target = resolveOwn(file, specifier);
  if (target === undefined) return judgePackage(layer, rule, specifier);
  if (specifier.startsWith('.') && packageOf(target) !== packageOf(file)) {
    return `reaches into another package by path: ${specifier}`;
  }
  const targetLayer = layerOf(target);
  if (targetLayer === layer) return undefined;
  const allowed = targetLayer !== undefined && rule.layers.some((pattern) => matchesLayer(pattern, targetLayer));
  return allowed ? undefined : `${layer} may not import ${targetLayer ?? 'what is in no layer'}: ${specifier}`;
}

function judgePackage(layer: string, rule: Rule, specifier: string): string | undefined {
  const isBuiltin = specifier.startsWith('node:') || builtinModules.includes(specifier);
  const name = isBuiltin
    ? `node:${specifier.replace(/^node:/, '')}`
    : (specifier.match(/^(@[^/]+\/)?[^/]+/)?.[0] ?? '');
  const owner = drivers[name] ?? drivers[name.split('/')[0] ?? ''];
  if (owner !== undefined && owner !== layer) return `${layer} may not import ${name}: only ${owner} may`;
  if (rule.packages === undefined || rule.packages.includes(name)) return undefined;
  if (isBuiltin && rule.packages.includes('node:*')) return undefined;
  return `${layer} may not import the package ${name}`;
}

/** The path in the repository that a specifier leads to, if it leads there. */
function resolveOwn(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  const [, name, subpath = ''] = specifier.match(/^@turnwire\/([^/]+)\/?(.*)$/) ?? [];
  if (name === undefined) return undefined;
  const folder = name === 'shared' || name === 'demo-model' ? 'packages' : 'services';
  return `${folder}/${name}/src/${subpath}.ts`;
}

function layerOf(path: string): string | undefined {
  const shared = path.match(/^packages\/shared\/src\/(adapters\/[^/]+|[^/]+)\//)?.[1];
  return shared ?? path.match(/^(?:packages|services)\/(?!shared\/)([^/]+)\/src\//)?.[1];
}

function ruleOf(layer: string): Rule | undefined {
  return Object.entries(rules).find(([pattern]) => matchesLayer(pattern, layer))?.[1];
}

function matchesLayer(pattern: string, layer: string): boolean {
  return pattern === layer || (pattern.endsWith('/*') && layer.startsWith(pattern.slice(0, -1)));
}

function packageOf(path: string): string {
  return path.split('/', 2).join('/');
}
