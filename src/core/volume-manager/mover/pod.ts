/**
 * Builds the Pod of a mover, with minimal rights and one mount: a directory of its node, or the export of an NFS volume. Its name is the same in
 * every attempt to create it.
 */
import {
  LABELS_ANNOTATION,
  MOVER_LABEL,
  MOVER_SLOT_LABEL,
  MOVER_TASK_ANNOTATION,
  VOLUME_LABEL,
} from '../../../api/lodestone.ts'
import { apiVersionOf } from '../../../api/meta.ts'
import type { Toleration } from '../../../api/node.ts'
import type { Container, EnvVar, Pod, PodSpec, PodVolume } from '../../../api/pod.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { isLabelValue } from '../../../base/names.ts'
import { parseDuration } from '../../../base/time/duration.ts'
import { STS_VARIABLE } from '../../../s3/role.ts'
import { CANCEL_ANNOTATION, MOVER_CONTAINER } from '../../mover-contract/contract.ts'
import { localRootOf } from '../rules/host-paths.ts'
import { claimNameOf, moverName, volumeKey } from '../rules/names.ts'
import { isReadOnly, publishedClaim } from '../rules/published.ts'
import { moverNamespace, type VolumeSettings } from '../rules/settings.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { type MoverPlacement, moverAffinity, VOLUME } from './affinity.ts'
import { withCopiedSecret } from './credentials.ts'
import { nfsExport } from './persistent-volume-objects.ts'
import type { MoverTask } from './task.ts'

export interface MoverPodInput {
  /** Default: the namespace of the movers of the VolumeManager. */
  namespace?: string
  manager: Pick<VolumeManager, 'metadata'>
  /** The volume; undefined for one that is no longer in the spec, whose data is deleted. */
  config: Pick<VolumeConfig, 'labels' | 'tolerations' | 'options' | 'mover'> | undefined
  task: MoverTask
  /** The verb and its options. */
  args: [verb: string, ...options: string[]]
  env: EnvVar[]
  /** The mount at `/volume` or below it. */
  mount: { at: string; volume: Omit<PodVolume, 'name'>; readOnly?: boolean } | undefined
  /** The limit of its run; absent for the option of the volume. */
  deadlineSeconds?: number
  /** Whether it frees disk of a node with disk pressure, or writes data back that can be deleted then. */
  isCritical?: boolean
  /** The capabilities, if they differ from those of the role. */
  capabilities?: readonly string[]
  placement: MoverPlacement
  /** Its per-node slot on every node (schedule/slots.ts). */
  slot: number
  settings: VolumeSettings['movers']
}

/** The path at which a mover mounts the directory of its volume. */
export const MOUNT_PATH = '/volume'
const CANCEL_PATH = '/mover'

/**
 * The capabilities of each role. A file of a pod may be readable only by its owner, and root without capabilities cannot read it. A
 * deletion also needs FOWNER: in a directory with the sticky bit, only the owner of a file can delete it.
 */
const CAPABILITIES: Readonly<Record<MoverTask['role'], readonly string[]>> = {
  replica: [],
  upload: ['DAC_READ_SEARCH'],
  maintenance: [],
  deletion: ['DAC_OVERRIDE', 'FOWNER'],
  leftover: ['DAC_OVERRIDE', 'FOWNER'],
}

/** The Pod of a mover, for a create request. */
export function moverPod(input: MoverPodInput): Pod {
  const { manager, config, task, args, settings, placement, slot } = input
  const { name = '', uid } = manager.metadata
  const namespace = input.namespace ?? moverNamespace(manager, settings)
  const isBeside = namespace === manager.metadata.namespace
  const key = volumeKey(manager, task.id)
  const podName = moverName(manager, task)
  const { env, annotations } = isBeside
    ? { env: input.env, annotations: {} }
    : withCopiedSecret(input.env, manager.metadata.namespace, podName)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName,
      ...(namespace && { namespace }),
      labels: {
        vckname: labelValue(name),
        vcid: labelValue(task.id),
        [VOLUME_LABEL]: key,
        [MOVER_LABEL]: args[0],
        [MOVER_SLOT_LABEL]: String(slot),
      },
      annotations: {
        ...annotations,
        ...labelsOfUsers(config?.labels),
        [MOVER_TASK_ANNOTATION]: JSON.stringify(task),
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      },
      // A mover that deletes has no owner: a foreground deletion of the owner would delete the mover first. An owner is in the same namespace.
      ...(uid &&
        isBeside &&
        args[0] !== 'delete' && {
          ownerReferences: [
            { apiVersion: apiVersionOf(volumeManagers), kind: volumeManagers.kind, name, uid, controller: true },
          ],
        }),
    },
    spec: {
      restartPolicy: 'Never',
      serviceAccountName: moverServiceAccount(input),
      ...(settings.imagePullSecrets.length > 0 && {
        imagePullSecrets: settings.imagePullSecrets.map((secret) => ({ name: secret })),
      }),
      ...moverPriority(input),
      ...moverDeadline(input),
      // The mover stops within two seconds.
      terminationGracePeriodSeconds: 10,
      tolerations: moverTolerations(input),
      affinity: moverAffinity(placement, key, slot, settings.architectures),
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [moverContainer({ ...input, env }, isBeside)],
      volumes: moverVolumes(input),
    },
  }
}

/** Only a mover that reads or writes the source has the role of a ServiceAccount of users. */
function moverServiceAccount({ config, args, settings }: MoverPodInput): string {
  return (usesSource(args) ? config?.mover?.serviceAccountName : undefined) ?? settings.serviceAccountName
}

function usesSource([verb]: MoverPodInput['args']): boolean {
  return verb === 'download' || verb === 'upload'
}

function moverContainer(
  { config, manager, task, args, env, mount, settings, isCritical, capabilities }: MoverPodInput,
  isBeside: boolean,
): Container {
  const { namespace = 'default', name = '', uid } = manager.metadata
  const about = { apiVersion: apiVersionOf(volumeManagers), kind: volumeManagers.kind, namespace, name, uid }
  // Another image has its own entry point. Lodestone's image needs the name of the command.
  const command = config?.mover?.image === undefined ? ['mover'] : []
  const more = capabilities ?? CAPABILITIES[task.role]
  const field = (variable: string, fieldPath: string): EnvVar => ({
    name: variable,
    valueFrom: { fieldRef: { fieldPath } },
  })
  return {
    name: MOVER_CONTAINER,
    image: config?.mover?.image ?? settings.image,
    imagePullPolicy: 'IfNotPresent',
    args: [...command, ...args, '--attempt', String(task.attempt), '--cancel-file', `${CANCEL_PATH}/cancel`],
    env: [
      ...env,
      ...(usesSource(args) && settings.stsEndpoint !== undefined
        ? [{ name: STS_VARIABLE, value: settings.stsEndpoint }]
        : []),
      field('POD_NAME', 'metadata.name'),
      field('POD_NAMESPACE', 'metadata.namespace'),
      field('POD_UID', 'metadata.uid'),
      field('NODE_NAME', 'spec.nodeName'),
      // An Event is in the namespace of its object, where a mover of another namespace has no rights.
      ...(isBeside ? [{ name: 'EVENT_ABOUT', value: JSON.stringify(about) }] : []),
    ],
    // A critical Pod preempts others on its node, so no user chooses its requests.
    resources: (isCritical ? undefined : config?.mover?.resources) ?? settings.resources,
    // Without a termination message, the last lines of the log are the reason, up to 2048 bytes.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      // The kubelet creates the directory with root as owner.
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], ...(more.length > 0 && { add: more }) },
    },
    volumeMounts: [
      ...(mount ? [{ name: VOLUME, mountPath: mount.at, ...(mount.readOnly && { readOnly: true }) }] : []),
      { name: 'mover', mountPath: CANCEL_PATH, readOnly: true },
    ],
  }
}

function moverVolumes({ mount }: MoverPodInput): PodVolume[] {
  const cancel = { path: 'cancel', fieldRef: { fieldPath: `metadata.annotations['${CANCEL_ANNOTATION}']` } }
  return [...(mount ? [{ name: VOLUME, ...mount.volume }] : []), { name: 'mover', downwardAPI: { items: [cancel] } }]
}

/** While a node has disk pressure, its kubelet rejects every Pod that is not critical (pkg/kubelet/eviction, Admit). */
const CRITICAL = 'system-node-critical'

function moverPriority({ config, isCritical, settings }: MoverPodInput): Pick<PodSpec, 'priorityClassName'> {
  if (isCritical) return { priorityClassName: CRITICAL }
  const priorityClassName = config?.mover?.priorityClassName ?? settings.priorityClassName
  return priorityClassName === undefined ? {} : { priorityClassName }
}

/** The longest deadline that the API server accepts in a Pod: 68 years (kubernetes, ValidatePodSpec). */
const MAX_DEADLINE_SECONDS = 2 ** 31 - 1

/** VCK's option `timeoutForDataDownload`. The next attempt continues with the data that arrived in time. */
function moverDeadline({ config, task, deadlineSeconds }: MoverPodInput): Pick<PodSpec, 'activeDeadlineSeconds'> {
  if (deadlineSeconds !== undefined) return { activeDeadlineSeconds: deadlineSeconds }
  const isDownload = task.role === 'replica' || task.role === 'maintenance'
  const ms = isDownload ? parseDuration(config?.options?.['timeoutForDataDownload'] ?? '') : undefined
  if (ms === undefined) return {}
  return { activeDeadlineSeconds: Math.min(Math.max(1, Math.ceil(ms / 1000)), MAX_DEADLINE_SECONDS) }
}

function moverTolerations({ config, placement }: MoverPodInput): Toleration[] {
  if ('anyTaint' in placement) return [{ operator: 'Exists' }]
  return config?.tolerations ?? []
}

/** As labels, they could match the selector of a DaemonSet, a ReplicaSet or a Service, which would adopt, delete or address the mover. */
function labelsOfUsers(labels: VolumeConfig['labels'] | undefined): Record<string, string> {
  return labels === undefined || Object.keys(labels).length === 0 ? {} : { [LABELS_ANNOTATION]: JSON.stringify(labels) }
}

/**
 * Returns the text, or its hash when it is not a valid label value. VCK's labels have names as values, which may be too long or have
 * invalid characters.
 */
function labelValue(text: string): string {
  return isLabelValue(text) ? text : fnv1a(text)
}

/** The place of the data in the container. */
export const TARGET = `${MOUNT_PATH}/data`

/** The mount for the mover of a replica; undefined for a replica without a directory. */
export function moverMount(
  manager: VolumeManager,
  config: VolumeConfig,
  { path }: ReplicaStatus,
  { settings, localRoots }: { settings: VolumeSettings['movers']; localRoots: readonly string[] },
): MoverPodInput['mount'] {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'present') {
    // The kubelet follows symbolic links, so the mover itself looks for the path below the root. It mounts only what exists.
    const root = localRootOf(path ?? '', { localRoots }) ?? path ?? ''
    return { at: MOUNT_PATH, volume: { hostPath: { path: root, type: 'Directory' } }, readOnly: true }
  }
  if (delivery === 'mounted') {
    const readOnly = isReadOnly(config)
    // A mover in another namespace than the claim mounts the export itself.
    const isBeside = moverNamespace(manager, settings) === manager.metadata.namespace
    const volume = isBeside
      ? { persistentVolumeClaim: publishedClaim(config, claimNameOf(manager, config)) }
      : { nfs: nfsExport(config) }
    return { at: TARGET, volume, readOnly }
  }
  return path === undefined ? undefined : directoryMount(path)
}

/** Mounts only the directory of a volume from the node. */
export function directoryMount(path: string): NonNullable<MoverPodInput['mount']> {
  return { at: MOUNT_PATH, volume: { hostPath: { path, type: 'DirectoryOrCreate' } } }
}
