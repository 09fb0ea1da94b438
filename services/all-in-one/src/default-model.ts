import { DEMO_MODEL_NAME, startDemoModel } from '@turnwire/demo-model/demo';
import type { ModelServer } from '@turnwire/demo-model/server';

export interface DefaultModel {
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly name: string;
}

/** What answers the agents that name no model of their own. */
export interface ChosenModel {
  readonly endpoint: DefaultModel;
  /** For people: which model, and where. */
  readonly label: string;
  /** Its server, where it is the demo model. */
  readonly demo: ModelServer | null;
}

/** The configured model; with neither key nor address, the demo model, started on a free port. */
export async function chooseModel(configured: DefaultModel): Promise<ChosenModel> {
  if (configured.apiKey !== null || configured.baseUrl !== null) {
    return { endpoint: configured, label: labelOf(configured), demo: null };
  }
  const demo = await startDemoModel();
  return {
    endpoint: { baseUrl: demo.url, apiKey: null, name: DEMO_MODEL_NAME },
    label: 'demo (scripted answers), no language model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one',
    demo,
  };
}

/** Without whatever an address may carry of a login or a key. */
function labelOf({ name, baseUrl }: DefaultModel): string {
  const { origin, pathname } = new URL(baseUrl ?? 'https://api.openai.com/v1');
  return `${name} at ${origin}${pathname}`;
}
