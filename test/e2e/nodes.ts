// The nodes of a member cluster: objects that kwok keeps alive, and what it does with the pods on them.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { MOVER_LABEL } from '../../src/api/lodestone.ts'
import type { ApiClient, KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'

export interface NodesOptions {
  names: string[]
  // The owner of mover pods: a program beside kwok (mover-kubelet.ts), or kwok itself, where they succeed at once.
  movers: 'left alone' | 'succeed'
}

export function kwokConfigFile(dir: string): string {
  return join(dir, 'kwok-stages.yaml')
}

export async function writeKwokConfig(dir: string, { movers }: NodesOptions): Promise<void> {
  const stages = [readyNode, runningPod, completedJobPod, deletedPod, ...(movers === 'succeed' ? moverStages : [])]
  await writeFile(kwokConfigFile(dir), stages.map((stage) => stringify(stage)).join('---\n'))
}

export async function createNodes(api: ApiClient, names: string[]): Promise<void> {
  for (const name of names) await api.apply(nodeObject(name))
}

export function nodeObject(name: string, os = 'linux', arch = 'amd64'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': os, 'kubernetes.io/arch': arch },
    },
  }
}

// Reports disk pressure of a node, as its kubelet does.
export async function diskPressure(plane: ControlPlane, node: string, status: 'True' | 'False'): Promise<void> {
  const now = new Date().toISOString()
  const reason = status === 'True' ? 'KubeletHasDiskPressure' : 'KubeletHasNoDiskPressure'
  const condition = { type: 'DiskPressure', status, reason, lastHeartbeatTime: now, lastTransitionTime: now }
  const patch = JSON.stringify({ status: { conditions: [condition] } })
  await plane.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

interface Requirement {
  key: string
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  values?: string[]
}

function stage(name: string, kind: 'Node' | 'Pod', matchExpressions: Requirement[], next: object): object {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: 'v1', kind }, selector: { matchExpressions }, next },
  }
}

const phase = (...values: string[]): Requirement => ({ key: '.status.phase', operator: 'In', values })
const moverLabel = `.metadata.labels["${MOVER_LABEL}"]`
const isMover: Requirement = { key: moverLabel, operator: 'Exists' }
const isNoMover: Requirement = { key: moverLabel, operator: 'DoesNotExist' }
const isKept: Requirement = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' }
const isDeleted: Requirement = { key: '.metadata.deletionTimestamp', operator: 'Exists' }
const isOfJob: Requirement = { key: '.metadata.ownerReferences.[].kind', operator: 'In', values: ['Job'] }

// The label of a node that kwok must not report as ready.
export const downLabel = 'example.org/down'

const readyNode = stage(
  'node-ready',
  'Node',
  [
    { key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: 'NotIn', values: ['True'] },
    { key: `.metadata.labels["${downLabel}"]`, operator: 'DoesNotExist' },
  ],
  {
    statusTemplate: `
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
allocatable: { cpu: "64", memory: 256Gi, pods: "500" }
capacity: { cpu: "64", memory: 256Gi, pods: "500" }
phase: Running
`,
  },
)

const containers = (state: string, ready: boolean) => `
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: ${ready}
  restartCount: 0
  state: ${state}
{{ end }}
`
const running = containers('{ running: { startedAt: {{ Now | Quote }} } }', true)
const ended = containers(
  '{ terminated: { exitCode: 0, reason: Completed, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }} } }',
  false,
)

const runningPod = stage('pod-running', 'Pod', [isNoMover, isKept, phase('Pending')], {
  statusTemplate: `
conditions:
- { type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }} }
${running}
phase: Running
startTime: {{ Now | Quote }}
`,
})

const completedJobPod = stage('job-pod-completed', 'Pod', [isNoMover, isKept, isOfJob, phase('Running')], {
  statusTemplate: `${ended}\nphase: Succeeded\n`,
})

const deletedPod = stage('pod-deleted', 'Pod', [isNoMover, isDeleted], { delete: true })

const moverStages = [
  stage('mover-succeeded', 'Pod', [isMover, isKept, phase('Pending')], {
    statusTemplate: `${ended}\nphase: Succeeded\nstartTime: {{ Now | Quote }}\n`,
  }),
  stage('mover-deleted', 'Pod', [isMover, isDeleted], { delete: true }),
]
