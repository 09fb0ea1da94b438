import ipaddr from 'ipaddr.js';

/** The part of IPv6 that is given out for the internet at large; what lies outside embeds IPv4 or is not routed. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** In Azure's virtual machines this public-looking address is the host's own service. */
const HOST_SERVICES = new Set(['168.63.129.16']);

/**
 * Whether an IP address belongs to the public internet: not to this machine, its networks, a cloud's metadata service,
 * or a range that is reserved, or that another address may hide in (IPv4-mapped, 6to4, NAT64, Teredo).
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || HOST_SERVICES.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}
