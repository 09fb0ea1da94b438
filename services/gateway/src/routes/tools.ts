import { putToolSchema, toolNameSchema, toolSchema, toolView } from '@turnwire/shared/contracts/http-tools';
import type { App } from '../app-type.ts';
import { keepSecrets } from './keep-secrets.ts';
import { registrationRoutes } from './registrations.ts';
import type { RouteDeps } from './route-deps.ts';

/** HTTP tools. */
export function toolRoutes(app: App, { store }: RouteDeps): void {
  registrationRoutes(app, {
    store: store.tools,
    plural: 'tools',
    noun: 'Tool',
    title: 'tool',
    name: toolNameSchema,
    body: putToolSchema,
    answer: toolSchema,
    view: toolView,
    parse(name, { id: _, headers, ...tool }, stored) {
      return { ...tool, name, headers: keepSecrets('headers', headers, stored?.headers ?? {}) };
    },
  });
}
