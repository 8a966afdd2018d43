/** Reads what the author of a policy declared about `propagateDeps`, from the spec or the last applied manifest. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { LAST_APPLIED_ANNOTATION } from '../../api/meta.ts'
import { isObject } from '../json.ts'

/**
 * What a policy says of `propagateDeps`; undefined when it says nothing. Karmada's webhook drops a `false` (the field is `omitempty`,
 * pkg/webhook/propagationpolicy/mutating.go): what kubectl applied may still have it. A `true` that was applied is not looked for there,
 * since whoever took it out of the object since then meant it.
 */
export function declaredPropagateDeps({ metadata, spec }: PropagationPolicy): boolean | undefined {
  return spec.propagateDeps ?? appliedFalse(metadata.annotations?.[LAST_APPLIED_ANNOTATION])
}

function appliedFalse(text: string | undefined): false | undefined {
  // Most policies never speak of it: those need not be parsed.
  if (!text?.includes('"propagateDeps"')) return undefined
  try {
    const applied: unknown = JSON.parse(text)
    return isObject(applied) && isObject(applied['spec']) && applied['spec']['propagateDeps'] === false
      ? false
      : undefined
  } catch {
    return undefined // Not JSON: kubectl did not write it.
  }
}
