import { htmlText } from './html-text.ts';
import { serveComputation } from './serve-computation.ts';

serveComputation(htmlText);
