/** Annotations and labels of Lodestone. Each comment names the objects that have it and the writer. */

/** On bindings, by admission: the affinity before narrowing, as JSON of `{clusterAffinity?, clusterAffinities?}`. */
export const BASE_AFFINITY_ANNOTATION = 'lodestone.dev/base-affinity'
/** On bindings, by admission: the decision and its reason, as JSON (core/resource-binding/annotations.ts). */
export const LOCALITY_ANNOTATION = 'lodestone.dev/locality'
/** On bindings, by admission: marks a suspension of scheduling as a hold of Lodestone, with time and reason, as JSON. */
export const HOLD_ANNOTATION = 'lodestone.dev/hold'
/** On policies, by users: `"true"` puts the bindings of workloads on hold until a claim for them exists. */
export const REQUIRES_CLAIM_ANNOTATION = 'lodestone.dev/requires-claim'
/** On namespaces, by users: which writes wait while Lodestone is not available. Without it, new workloads with a claim do. */
export const ENFORCE_LABEL = 'lodestone.dev/enforce'
/** Its value with which all writes of bindings and policies fail. */
export const ENFORCE_ALL = 'true'
/** Its value with which new workloads with a claim wait, however many claims the namespace has. */
export const ENFORCE_CLAIMS = 'claims'
/** Its value with which no new workload waits. */
export const ENFORCE_NOTHING = 'false'
/** On MultiKueueClusters, by users: the name that the cluster has in DataSources, if it has another one there. */
export const CLUSTER_NAME_ANNOTATION = 'lodestone.dev/cluster-name'
/** On namespaces, by users: a comma-separated list of the namespaces whose claims may name workloads here, or `*`. */
export const ALLOW_CLAIMS_FROM_ANNOTATION = 'lodestone.dev/allow-claims-from'
/** On Events, by the loops: the id of the decision that the Event is about (core/decision-id.ts). */
export const DECISION_ID_LABEL = 'lodestone.dev/decision-id'
/** Finalizer of claims, by admission and the claim loop: bindings are restored before a claim is deleted. */
export const CLAIM_FINALIZER = 'lodestone.dev/claim'
/** Finalizer of claimed sources, by the source loop: the location stays until the data system has answered again. */
export const SOURCE_FINALIZER = 'lodestone.dev/source'
/** On policies: `"false"` prevents that Lodestone sets `propagateDeps`. By users, and by admission for `propagateDeps: false`. */
export const PROPAGATE_DEPS_ANNOTATION = 'lodestone.dev/propagate-deps'
/** On policies, by admission and their loop: `"true"` marks `propagateDeps` as set by Lodestone. Both are removed together. */
export const PROPAGATE_DEPS_SET_ANNOTATION = 'lodestone.dev/propagate-deps-set'
/** On attached bindings, by the loop of attached bindings; a hash of the referrer follows. */
export const DEPENDED_BY_LABEL_PREFIX = 'lodestone.dev/depended-by-'
/** Finalizer of bindings with attached bindings, by the dependencies loop: they are released before the binding is deleted. */
export const DEPENDENCIES_FINALIZER = 'lodestone.dev/dependencies'
/**
 * On workloads, pod templates and pods, by users: the VolumeManagers with the data of the pods. JSON of an object with a `name`, or of a
 * list of such objects. Admission copies it into pod templates.
 */
export const VOLUMES_ANNOTATION = 'lodestone.dev/volumes'
/**
 * On pod templates, by admission: the label and the annotation that it added there, as JSON (core/workload/requests/added-values.ts). They
 * are removed with the annotation of the workload.
 */
export const ADDED_ANNOTATION = 'lodestone.dev/added'
/** On workloads, by users: further dependencies in their namespace. JSON of a list of objects with `kind` and `name`. */
export const DEPENDS_ON_ANNOTATION = 'lodestone.dev/depends-on'
/** On DaemonSets, by admission and their loop: the requirements that were added to the node affinity for volumes, as JSON. */
export const NODE_REQUIREMENTS_ANNOTATION = 'lodestone.dev/node-requirements'
/** Finalizer of VolumeManagers, by their loop: the data is deleted from nodes before the object is deleted. */
export const VOLUME_FINALIZER = 'lodestone.dev/volumes'
/** On VolumeManagers, by users: `"true"` allows the deletion of data in use. */
export const DELETE_IN_USE_ANNOTATION = 'lodestone.dev/delete-in-use'
/** On VolumeManagers, by users: a new value checks all data, with checksums. */
export const CHECK_ANNOTATION = 'lodestone.dev/check'
/** On VolumeManagers, by users: a new value compares all read-only data with its source, and downloads what changed. */
export const REFRESH_ANNOTATION = 'lodestone.dev/refresh'
/**
 * On mover pods, PersistentVolumes and PersistentVolumeClaims, by the loop of volumes: the volume. Two movers of one volume never share a
 * node.
 */
export const VOLUME_LABEL = 'lodestone.dev/volume'
/** On PersistentVolumes of replicas, by the loop of volumes: the name of the node. */
export const NODE_ANNOTATION = 'lodestone.dev/node'
/** On mover pods in another namespace than their VolumeManager, by the loop of volumes: the Secret that is copied for the mover. */
export const CREDENTIALS_ANNOTATION = 'lodestone.dev/credentials'
/** On mover pods, and the Secrets copied for them, by the loop of volumes: the verb of the mover. */
export const MOVER_LABEL = 'lodestone.dev/mover'
/** On mover pods, by the loop of volumes: the per-node slot. Two movers with the same number never share a node. */
export const MOVER_SLOT_LABEL = 'lodestone.dev/mover-slot'
/** On mover pods, by the loop of volumes: the task and its VolumeManager, as JSON (core/volume-manager/mover/task.ts). */
export const MOVER_TASK_ANNOTATION = 'lodestone.dev/mover-task'
/** On mover pods, by the loop of volumes: the labels of the volume in the VolumeManager, as JSON. */
export const LABELS_ANNOTATION = 'lodestone.dev/mover-labels'
/** On nodes, by the loop of volumes: data of a deleted VolumeManager, as JSON (core/volume-manager/nodes/leftovers.ts); a hash of its path follows. */
export const LEFTOVER_PREFIX = 'leftover.lodestone.dev/'
/** On nodes, by the loop of volumes: the free disk that a mover reported, as JSON (core/volume-manager/nodes/disk.ts). */
export const DISK_PREFIX = 'disk.lodestone.dev/'
/** On pods and pod templates: `"true"` selects the pod for admission. By users, and by admission on the templates of workloads. */
export const INJECT_LABEL = 'lodestone.dev/inject'
/** Scheduling gate of pods, added by admission while their data is not ready. The loop of pods removes it. */
export const VOLUMES_GATE = 'lodestone.dev/volumes'
