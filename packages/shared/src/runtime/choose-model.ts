/** The endpoint that agents use who name none. */
export interface DefaultModel {
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly name: string;
}

/** What answers the agents that name no model of their own. */
export interface ChosenModel {
  /** For people: which model, and where. */
  readonly label: string;
  readonly demo: boolean;
  readonly endpoint: DefaultModel;
  close(): Promise<void>;
}

const DEMO_LABEL = 'demo (scripted answers), no language model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one';

/**
 * The configured model; with neither key nor address the demo model, which a process that talks to models starts on a
 * free port of its own.
 */
export async function chooseModel(configured: DefaultModel, talksToModels: boolean): Promise<ChosenModel> {
  const isConfigured = configured.apiKey !== null || configured.baseUrl !== null;
  if (isConfigured) return { label: labelOf(configured), demo: false, endpoint: configured, close: async () => {} };
  if (!talksToModels) return { label: DEMO_LABEL, demo: true, endpoint: configured, close: async () => {} };
  const { DEMO_MODEL_NAME, startDemoModel } = await import('@turnwire/demo-model/demo');
  const server = await startDemoModel();
  const endpoint = { baseUrl: server.url, apiKey: null, name: DEMO_MODEL_NAME };
  return { label: DEMO_LABEL, demo: true, endpoint, close: () => server.close() };
}

/** Without whatever an address may carry of a login or a key. */
function labelOf({ name, baseUrl }: DefaultModel): string {
  const { origin, pathname } = new URL(baseUrl ?? 'https://api.openai.com/v1');
  return `${name} at ${origin}${pathname}`;
}
