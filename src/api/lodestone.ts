/** Annotations and labels that Lodestone owns. Each has one writer, named here. */

/** On bindings, by admission: the affinity before narrowing, as JSON of `{clusterAffinity?, clusterAffinities?}`. */
export const BASE_AFFINITY_ANNOTATION = 'lodestone.dev/base-affinity'
/** On bindings, by admission: what was decided and why, as JSON (core/resource-binding/annotations.ts). */
export const LOCALITY_ANNOTATION = 'lodestone.dev/locality'
/** On bindings, by admission: that the suspension of scheduling is ours, since when and why, as JSON. */
export const HOLD_ANNOTATION = 'lodestone.dev/hold'
/** On policies, by users: `"true"` holds the bindings of workloads until a claim for them exists. */
export const REQUIRES_CLAIM_ANNOTATION = 'lodestone.dev/requires-claim'
/** On namespaces, by users: `"true"` refuses bindings and policies while Lodestone is away instead of letting them pass un-narrowed. */
export const ENFORCE_LABEL = 'lodestone.dev/enforce'
/** On namespaces, by users: the namespaces whose claims may name workloads here, with commas between them, or `*` (core/data-source-claim/grant.ts). */
export const ALLOW_CLAIMS_FROM_ANNOTATION = 'lodestone.dev/allow-claims-from'
/** On claims, by the claim loop: bindings are restored before a claim goes. */
export const CLAIM_FINALIZER = 'lodestone.dev/claim'
/** On sources, by the source loop, while they are claimed: what a source says stands until its system has been asked anew. */
export const SOURCE_FINALIZER = 'lodestone.dev/source'
/** On policies: `"false"` keeps `propagateDeps` unset. By users, and by admission where the user wrote `propagateDeps: false`. */
export const PROPAGATE_DEPS_ANNOTATION = 'lodestone.dev/propagate-deps'
/** On attached bindings, by the dependencies loop, followed by a hash of the binding that they are attached to. */
export const DEPENDED_BY_LABEL_PREFIX = 'lodestone.dev/depended-by-'
/** On bindings with attached bindings of ours, by the dependencies loop: those are released before the binding goes. */
export const DEPENDENCIES_FINALIZER = 'lodestone.dev/dependencies'
/** On workloads, pod templates and pods, by users; copied into templates by admission: the VolumeManagers whose data the pods need, as JSON of an object with a `name` or a list of them. */
export const VOLUMES_ANNOTATION = 'lodestone.dev/volumes'
/** On VolumeManagers, by their loop: the data leaves the nodes before the object goes. */
export const VOLUME_FINALIZER = 'lodestone.dev/volumes'
/** On VolumeManagers, by users: `"true"` deletes data although pods use it. */
export const DELETE_IN_USE_ANNOTATION = 'lodestone.dev/delete-in-use'
/** On mover pods, PersistentVolumes and claims, by the loop of volumes: whose they are; two movers of one volume never share a node. */
export const VOLUME_LABEL = 'lodestone.dev/volume'
/** On mover pods, by the loop of volumes: what they do. */
export const MOVER_LABEL = 'lodestone.dev/mover'
/** On mover pods, by the loop of volumes: a number below the movers that a node may have; two of one number never share a node. */
export const MOVER_SLOT_LABEL = 'lodestone.dev/mover-slot'
/** On mover pods, by the loop of volumes: for which work of which VolumeManager, as JSON (core/volume-manager/mover/task.ts). */
export const MOVER_TASK_ANNOTATION = 'lodestone.dev/mover-task'
/** On pods and pod templates: `"true"` has admission look at the pod's volumes. By users, and by admission on the templates of workloads. */
export const INJECT_LABEL = 'lodestone.dev/inject'
/** A scheduling gate of pods, by admission while data is on its way; taken away by the loop of pods. */
export const VOLUMES_GATE = 'lodestone.dev/volumes'
