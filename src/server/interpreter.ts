/** Serves one call of Karmada's resource interpreter. */
import { INTERPRET_DEPENDENCY, type InterpreterRequest } from '../api/interpreter.ts'
import { groupOf, keyOfObject } from '../api/meta.ts'
import { decodeContext, encodeContext, type Interpretation } from '../core/dependencies/interpreter-context.ts'
import { INTERPRETER_NAME, type Interpreter } from '../webhooks/interpreter.ts'
import { type CallDependencies, type Serve, serveCalls } from './call.ts'

/**
 * Serves the interpreter.
 *
 * @returns a function from the text of a body to the answer. For another operation or an unknown kind, the response is not successful.
 *   Invalid input is a 4xx; a fault, such as an incomplete cache, is a 500. In all these cases, Karmada retries and removes no
 *   dependencies.
 */
export function serveInterpreter(interpreter: Interpreter, dependencies: CallDependencies): Serve {
  const known = new Set(interpreter.types.map(({ group, kind }) => groupKind(group, kind)))

  function interpretRequest({ operation, object }: InterpreterRequest): Interpretation {
    if (operation !== INTERPRET_DEPENDENCY) {
      return { refusal: `lodestone: operation ${operation} is not supported; use ${INTERPRET_DEPENDENCY}` }
    }
    if (!known.has(groupKind(groupOf(object.apiVersion), object.kind))) {
      return { refusal: `lodestone: kind ${object.kind} of ${object.apiVersion} is not supported` }
    }
    // Karmada sends no client certificate here. A caller that cannot read the object must not receive its dependencies.
    if (!interpreter.isStored(object)) {
      const { kind, metadata } = object
      return { refusal: `lodestone: ${kind} ${keyOfObject({ metadata })} with this uid is not cached; retry` }
    }
    return { dependencies: interpreter.interpret(object) }
  }

  return serveCalls(
    {
      name: INTERPRETER_NAME,
      expects: 'a ResourceInterpreterContext',
      logMessages: { answered: 'interpreted', refused: 'interpretation refused', failed: 'interpretation failed' },
      decode: decodeContext,
      decide(request) {
        const interpretation = interpretRequest(request)
        const isRefusal = 'refusal' in interpretation
        return {
          body: JSON.stringify(encodeContext(request, interpretation)),
          decision: isRefusal ? 'refused' : 'interpreted',
          line: {
            ...describe(request),
            ...(isRefusal
              ? { outcome: 'refused', reason: interpretation.refusal }
              : { outcome: 'interpreted', dependencies: interpretation.dependencies.length }),
          },
        }
      },
      describe,
    },
    dependencies,
  )
}

function describe({ uid, operation, object: { apiVersion, kind, metadata } }: InterpreterRequest) {
  return { uid, operation, object: `${apiVersion} ${kind} ${keyOfObject({ metadata })}` }
}

function groupKind(group: string, kind: string): string {
  return `${group}/${kind}`
}
