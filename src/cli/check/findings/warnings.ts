/** The table of warnings of admission that are findings of their own, because the object would not do what it says. */
import type { FindingId } from './findings.ts'

const INEFFECTIVE: readonly { text: RegExp; id: FindingId }[] = [
  { text: /^unknown annotation /, id: 'ineffective-annotation' },
  { text: / is a label, not an/, id: 'ineffective-annotation' },
  { text: /^label \S+ without annotation /, id: 'ineffective-annotation' },
  { text: /^no pod gets the volumes: /, id: 'ineffective-annotation' },
  { text: /^metadata\.annotations\[\S+\]: has no effect/, id: 'ineffective-annotation' },
  { text: /^the pod template of a \S+ is immutable; /, id: 'ineffective-annotation' },
  { text: / is read-only; /, id: 'ineffective-annotation' },
  { text: /^VolumeManager \S+ cannot be used: /, id: 'unusable-volume' },
  { text: /^volume \S+ of VolumeManager /, id: 'unusable-volume' },
]

/**
 * Returns the finding for a warning of admission.
 *
 * @param text the warning without its prefix
 * @param isUnknownKind whether the object is of a kind that is not in the table of workload kinds
 */
export function findingOfWarning(text: string, isUnknownKind: boolean): FindingId {
  const found = INEFFECTIVE.find((each) => each.text.test(text))
  return found?.id ?? (isUnknownKind ? 'unknown-kind' : 'admission-warning')
}
