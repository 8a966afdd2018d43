/** Reads what the author of a policy declared for `propagateDeps`, in the spec or in the last applied manifest. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { LAST_APPLIED_ANNOTATION } from '../../api/meta.ts'
import { isObject, parseJson } from '../../base/json.ts'

/**
 * Returns the value that a policy declares for `propagateDeps`; undefined if it declares none. Karmada's webhook drops a `false` (the field
 * is `omitempty`, pkg/webhook/propagationpolicy/mutating.go), but the manifest that kubectl applied may still have it. An applied `true` is
 * ignored: if the object no longer has it, a user removed it on purpose.
 */
export function declaredPropagateDeps({ metadata, spec }: PropagationPolicy): boolean | undefined {
  return spec.propagateDeps ?? appliedFalse(metadata.annotations?.[LAST_APPLIED_ANNOTATION])
}

function appliedFalse(text: string | undefined): false | undefined {
  // Most manifests never mention the field and need no parsing.
  if (!text?.includes('"propagateDeps"')) return undefined
  const applied = parseJson(text)
  const spec = isObject(applied) ? applied['spec'] : undefined
  return isObject(spec) && spec['propagateDeps'] === false ? false : undefined
}
