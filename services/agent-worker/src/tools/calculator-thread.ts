import { evaluateExpression } from './evaluate-expression.ts';
import { serveComputation } from './serve-computation.ts';

serveComputation(evaluateExpression);
