/** Objects without what they hold: how an API server is asked for them, and how one that came whole is cut. */
import type { K8sObject } from '../../../api/meta.ts'

/**
 * The `accept` header of a LIST or WATCH (Kubernetes API Concepts, "Fetching metadata only"). A server that cannot cut answers with
 * whole objects, which are better than none.
 */
export function acceptFor(view: 'PartialObjectMetadata' | 'PartialObjectMetadataList', metadataOnly: boolean): string {
  return metadataOnly ? `application/json;as=${view};g=meta.k8s.io;v=v1,application/json` : 'application/json'
}

/** The object without what it holds. */
export function metadataOf({ apiVersion, kind, metadata }: K8sObject): K8sObject {
  return { apiVersion, kind, metadata }
}
