import { startTurnwire, type Turnwire, type TurnwireOptions } from './turnwire.ts';

/** A way to run the product. */
export interface Profile {
  readonly name: string;
  start(options: TurnwireOptions): Promise<Turnwire>;
}

/** The ways in which every flow has to hold. */
export function profiles(): readonly Profile[] {
  return [{ name: 'embedded', start: startTurnwire }];
}
