/** User info of every host in a list: `a:b@host1,host2`, `mongodb://` has one for all, NATS one for each. */
const USER_INFO = /(?:^[^:]+:\/\/|,(?:[^:/@,]+:\/\/)?)([^@/,]+)@/g;

/** The passwords and tokens in the address of a server, as they stand in it and as they are meant. */
export function secretsInUrl(url: string): readonly string[] {
  const secrets = [...url.matchAll(USER_INFO)].map(([, userInfo = '']) => {
    const colon = userInfo.indexOf(':');
    return colon === -1 ? userInfo : userInfo.slice(colon + 1); // a user alone is a token on NATS
  });
  return [...new Set(secrets.flatMap((secret) => [secret, decoded(secret)]))].filter((secret) => secret !== '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
