// Starts the service that the command names, in this very process.
const services = ['gateway', 'agent-worker', 'memory-worker', 'all-in-one'];
const [, , service] = process.argv;
if (!services.includes(service)) {
  console.error(`Name the service to start: ${services.join(', ')}.`);
  process.exit(2);
}
process.argv.splice(1, 2, `services/${service}/src/main.ts`);
await import(`./services/${service}/src/main.ts`);
