/** Completes a pod that has the annotation for volumes without the label that selects pods for admission. */
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { Pod } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import type { Outcome } from '../outcome.ts'
import { mistypedAnnotations } from './requests/annotation-keys.ts'

/** Returns the pod with the label; if it requests no volumes, the outcome with warnings about mistyped annotations. */
export function completePod(pod: Pod): { pod: Pod } | { outcome: Outcome } {
  const { labels, annotations } = pod.metadata
  if (labels?.[INJECT_LABEL] === undefined && annotations?.[VOLUMES_ANNOTATION] !== undefined) {
    return { pod: { ...pod, metadata: { ...pod.metadata, labels: { ...labels, [INJECT_LABEL]: 'true' } } } }
  }
  const warnings = mistypedAnnotations(annotations)
  return { outcome: defined({ kind: 'allow', warnings: warnings.length > 0 ? warnings : undefined }) }
}
