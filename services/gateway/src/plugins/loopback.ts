/** Whether a host name (without port) names this machine and nothing else. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
  );
}

/** The host of a `Host` header or an origin; null where there is none to read. */
export function hostOf(authority: string): string | null {
  return /^(?:https?:\/\/)?(\[[^\]]+\]|[^:/[\]]+)(?::\d*)?$/.exec(authority)?.[1] ?? null;
}
