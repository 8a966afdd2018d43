/** Metadata-only objects: the media types that request them, and the cut of an object that came whole. */
import type { K8sObject } from '../../../api/meta.ts'

/**
 * The `accept` header of a LIST or WATCH (Kubernetes API Concepts, "Fetching metadata only"). A server that cannot cut answers with
 * whole objects, which are better than none.
 */
export function acceptFor(view: 'PartialObjectMetadata' | 'PartialObjectMetadataList', metadataOnly: boolean): string {
  return metadataOnly ? `application/json;as=${view};g=meta.k8s.io;v=v1,application/json` : 'application/json'
}

/** The object without its content. */
export function metadataOf({ apiVersion, kind, metadata }: K8sObject): K8sObject {
  return { apiVersion, kind, metadata }
}
