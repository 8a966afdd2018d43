/** Lets writes pass that do not change what is invalid, as the ratcheting validation of Kubernetes does. */
import type { K8sObject } from '../../api/meta.ts'
import { jsonEqual } from '../../base/json.ts'
import type { Outcome } from '../outcome.ts'

const OUR_PREFIX = 'lodestone.dev/'

/** The parts of an object that a validation reads; of labels and annotations, those of Lodestone. */
export type ValidatedParts = 'spec' | 'spec and annotations' | 'labels and annotations'

export interface Write {
  object: K8sObject
  /** The stored object; absent if the write creates the object. */
  stored: K8sObject | undefined
}

/**
 * Allows a rejected write of an object that is being deleted, or whose validated parts do not change. Then its finalizers can be removed,
 * and its metadata can be written. The stored object may be older than the rule that it breaks. Warnings stay.
 */
export function ratchet(outcome: Outcome, { object, stored }: Write, parts: ValidatedParts): Outcome {
  if (outcome.kind !== 'deny') return outcome
  const isUnchanged = stored != null && jsonEqual(VALIDATED[parts](object), VALIDATED[parts](stored))
  if (!object.metadata.deletionTimestamp && !isUnchanged) return outcome
  const { errors: _ignored, ...details } = outcome
  return { ...details, kind: 'allow' }
}

const VALIDATED: Readonly<Record<ValidatedParts, (object: K8sObject) => unknown>> = {
  spec: objectContent,
  'spec and annotations': (object) => [objectContent(object), ownValues(object.metadata.annotations)],
  'labels and annotations': ({ metadata }) => [ownValues(metadata.labels), ownValues(metadata.annotations)],
}

function objectContent({ metadata: _metadata, ...rest }: K8sObject): unknown {
  const { status: _status, ...content } = rest as typeof rest & { status?: unknown }
  return content
}

function ownValues(values: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => key.startsWith(OUR_PREFIX)))
}
