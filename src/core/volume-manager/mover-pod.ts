/** The pod of a mover: minimal rights, one directory of its node, and a name that is the same whenever it is made. */
import { MOVER_LABEL, MOVER_LANE_LABEL, MOVER_TASK_ANNOTATION, VOLUME_LABEL } from '../../api/lodestone.ts'
import { apiVersionOf } from '../../api/meta.ts'
import type { NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Toleration } from '../../api/node.ts'
import type { Container, EnvVar, Pod, PodSpec, PodVolume } from '../../api/pod.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { fnv1a } from '../hash.ts'
import { parseDuration } from '../locality/duration.ts'
import { CANCEL_ANNOTATION } from '../mover/contract.ts'
import { type MoverTask, nameOfTask } from './mover-task.ts'
import { volumeKey } from './names.ts'
import type { VolumeSettings } from './settings.ts'

export interface MoverPodInput {
  manager: VolumeManager
  /** The volume; undefined for one that is no longer in the spec, whose data is deleted. */
  config: VolumeConfig | undefined
  task: MoverTask
  /** What it is told: the verb, and what belongs to it. */
  args: [verb: string, ...options: string[]]
  env: EnvVar[]
  /** What is mounted at `/volume`, or below it. */
  mount: { at: string; volume: Omit<PodVolume, 'name'>; readOnly?: boolean } | undefined
  placement: Placement
  /** Its lane on whatever node it comes to (lanes.ts). */
  lane: number
  settings: VolumeSettings['movers']
}

/** Where a mover may run. */
export type Placement =
  /** On this node only. */
  | { on: string; anyTaint?: true }
  /** Wherever the affinity allows, but not where any of these labels is, and not on these nodes. */
  | { affinity: NodeAffinity | undefined; withoutLabels: readonly string[]; notOn: readonly string[] }

const HOSTNAME = 'kubernetes.io/hostname'
/** Where a mover sees its directory. */
export const MOUNT_PATH = '/volume'
const CANCEL_PATH = '/mover'

/**
 * What pods wrote is theirs, and may be for nobody else: to read it takes more than being root without capabilities, and to delete it takes
 * FOWNER as well, since in directories with the sticky bit only owners delete.
 */
const CAPABILITIES: Readonly<Record<MoverTask['role'], readonly string[]>> = {
  replica: [],
  upload: ['DAC_READ_SEARCH'],
  release: ['DAC_OVERRIDE', 'FOWNER'],
}

/** The whole pod, ready to be created. */
export function moverPod(input: MoverPodInput): Pod {
  const { manager, config, task, settings, placement, lane } = input
  const { namespace, name = '', uid } = manager.metadata
  const key = volumeKey(manager, task.id)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: nameOfTask(manager, task),
      ...(namespace && { namespace }),
      labels: {
        ...config?.labels,
        vckname: labelValue(name),
        vcid: labelValue(task.id),
        [VOLUME_LABEL]: key,
        [MOVER_LABEL]: input.args[0],
        [MOVER_LANE_LABEL]: String(lane),
      },
      annotations: {
        [MOVER_TASK_ANNOTATION]: JSON.stringify(task),
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      },
      // What deletes has no owner: a foreground deletion of the owner would delete it before its work is done.
      ...(uid &&
        task.role !== 'release' && {
          ownerReferences: [
            { apiVersion: apiVersionOf(volumeManagers), kind: volumeManagers.kind, name, uid, controller: true },
          ],
        }),
    },
    spec: {
      restartPolicy: 'Never',
      serviceAccountName: settings.serviceAccountName,
      ...(settings.imagePullSecrets.length > 0 && {
        imagePullSecrets: settings.imagePullSecrets.map((secret) => ({ name: secret })),
      }),
      ...priorityOf(input),
      ...deadlineOf(input),
      // The mover stops within two seconds.
      terminationGracePeriodSeconds: 10,
      tolerations: tolerationsOf(input),
      affinity: {
        nodeAffinity: nodeAffinityOf(placement),
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: HOSTNAME, labelSelector: { matchLabels: { [VOLUME_LABEL]: key } } },
            {
              topologyKey: HOSTNAME,
              labelSelector: { matchLabels: { [MOVER_LANE_LABEL]: String(lane) } },
              namespaceSelector: {},
            },
          ],
        },
      },
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [containerOf(input)],
      volumes: volumesOf(input),
    },
  }
}

function containerOf({ config, manager, task, args, env, mount, settings }: MoverPodInput): Container {
  const { namespace = 'default', name = '', uid } = manager.metadata
  const about = { apiVersion: apiVersionOf(volumeManagers), kind: volumeManagers.kind, namespace, name, uid }
  // Another image is its own command; ours is told which of its commands this is.
  const command = config?.mover?.image === undefined ? ['mover'] : []
  const more = CAPABILITIES[task.role]
  const field = (variable: string, fieldPath: string): EnvVar => ({
    name: variable,
    valueFrom: { fieldRef: { fieldPath } },
  })
  return {
    name: 'mover',
    image: config?.mover?.image ?? settings.image,
    imagePullPolicy: 'IfNotPresent',
    args: [...command, ...args, '--attempt', String(task.attempt), '--cancel-file', `${CANCEL_PATH}/cancel`],
    env: [
      ...env,
      field('POD_NAME', 'metadata.name'),
      field('POD_NAMESPACE', 'metadata.namespace'),
      field('POD_UID', 'metadata.uid'),
      field('NODE_NAME', 'spec.nodeName'),
      { name: 'EVENT_ABOUT', value: JSON.stringify(about) },
    ],
    resources: config?.mover?.resources ?? settings.resources,
    // A mover that says nothing of its own has its last lines of log for a reason, up to 2048 bytes of them.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      // The kubelet makes the directory as root's.
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], ...(more.length > 0 && { add: more }) },
    },
    volumeMounts: [
      ...(mount ? [{ name: 'volume', mountPath: mount.at, ...(mount.readOnly && { readOnly: true }) }] : []),
      { name: 'mover', mountPath: CANCEL_PATH, readOnly: true },
    ],
  }
}

function volumesOf({ mount }: MoverPodInput): PodVolume[] {
  const cancel = { path: 'cancel', fieldRef: { fieldPath: `metadata.annotations['${CANCEL_ANNOTATION}']` } }
  return [...(mount ? [{ name: 'volume', ...mount.volume }] : []), { name: 'mover', downwardAPI: { items: [cancel] } }]
}

function priorityOf({ config, settings }: MoverPodInput): Pick<PodSpec, 'priorityClassName'> {
  const priorityClassName = config?.mover?.priorityClassName ?? settings.priorityClassName
  return priorityClassName === undefined ? {} : { priorityClassName }
}

/** VCK's time limit, where it is given: what came in time is there for the next attempt. */
function deadlineOf({ config, task }: MoverPodInput): Pick<PodSpec, 'activeDeadlineSeconds'> {
  const ms = task.role === 'replica' ? parseDuration(config?.options?.['timeoutForDataDownload'] ?? '') : undefined
  return ms === undefined ? {} : { activeDeadlineSeconds: Math.max(1, Math.ceil(ms / 1000)) }
}

function tolerationsOf({ config, placement }: MoverPodInput): Toleration[] {
  if ('anyTaint' in placement) return [{ operator: 'Exists' }]
  return config?.tolerations ?? []
}

function nodeAffinityOf(placement: Placement): NodeAffinity {
  if ('on' in placement) {
    return {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [placement.on] }] }],
      },
    }
  }
  const { affinity, withoutLabels, notOn } = placement
  const expressions = withoutLabels.map((key): NodeSelectorRequirement => ({ key, operator: 'DoesNotExist' }))
  const fields = notOn.map(
    (node): NodeSelectorRequirement => ({
      key: 'metadata.name',
      operator: 'NotIn',
      values: [node],
    }),
  )
  const given = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  // A term without requirements matches no node.
  if (expressions.length + fields.length === 0) return affinity ?? {}
  const terms = given ?? [{}]
  return {
    ...affinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: terms.map((term) => withRequirements(term, expressions, fields)),
    },
  }
}

/** Into every term, since any of them is enough for the scheduler. */
function withRequirements(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  expressions: readonly NodeSelectorRequirement[],
  fields: readonly NodeSelectorRequirement[],
): NodeSelectorTerm {
  const allExpressions = [...matchExpressions, ...expressions]
  const allFields = [...matchFields, ...fields]
  return {
    ...(allExpressions.length > 0 && { matchExpressions: allExpressions }),
    ...(allFields.length > 0 && { matchFields: allFields }),
  }
}

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

/** VCK's labels carry names that may be too long for labels, or have characters that labels cannot have. */
function labelValue(text: string): string {
  return LABEL_VALUE.test(text) ? text : fnv1a(text)
}
