/** Explains a pod: the volumes that it requests, and why it waits for them. */
import { VOLUMES_ANNOTATION, VOLUMES_GATE } from '../../api/lodestone.ts'
import { referenceOf, referenceTitle } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'
import { podDecisionId } from '../../core/decision-id.ts'
import { decidePod, isInjected } from '../../core/workload/decide-pod.ts'
import { gateStateOf } from '../../core/workload/gate/gate-state.ts'
import type { VolumeManagerLookup } from '../../core/workload/injection/mountable-volumes.ts'
import { parseVolumeRequests } from '../../core/workload/requests/volume-requests.ts'
import { validatePodSpec } from '../../core/workload/validate.ts'
import { fitsNodeOf, isHub } from '../../queries/volumes.ts'
import type { Context, Explainer } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readRequested } from './volume-requests.ts'
import { workloadExplainer } from './workload.ts'

export const podExplainer: Explainer = {
  reads: workloadExplainer.reads,
  async explain(target, context) {
    const pod = await context.store.read(pods, target.namespace, target.name)
    // A hub runs no pods: Karmada propagates them as it does workloads.
    if (isHub(context.store) || (context.isHub && !(pod && isOfMember(pod))))
      return workloadExplainer.explain(target, context)
    return pod && explainPod(pod, context)
  },
}

/** Whether a pod was admitted by a member cluster: a hub adds no gate and chooses no node. */
function isOfMember({ spec }: Pod): boolean {
  return [
    stringsAt(spec, 'nodeName'),
    stringsAt(spec, 'schedulingGates[*].name').filter((name) => name === VOLUMES_GATE),
  ].some((found) => found.length > 0)
}

async function explainPod(pod: Pod, context: Context): Promise<TreeNode> {
  const reference = referenceOf(pod)
  const invalid = validatePodSpec(pod.spec)
  if (invalid.length > 0) {
    const children = invalid.map(({ path, message }) => ({ text: `${path}: ${message}` }))
    return { ...reference, text: `${referenceTitle(reference)}: Invalid`, state: 'Invalid', children }
  }
  const annotation = pod.metadata.annotations?.[VOLUMES_ANNOTATION]
  const parsed = annotation === undefined ? { requests: [] } : parseVolumeRequests(annotation)
  const requests = 'requests' in parsed ? parsed.requests : []
  const volumes = await readRequested(requests, pod.metadata.namespace, context)
  const decision = podDecision(pod, volumes.managers, context)
  const decisionId = isInjected(pod) ? podDecisionId(pod) : undefined
  return {
    ...reference,
    text: `${referenceTitle(reference)}: ${decision.state}`,
    state: decision.state,
    ...defined({ decisionId }),
    children: [
      ...decision.lines,
      ...(decisionId === undefined ? [] : [{ text: `decision id: ${decisionId}` }]),
      ...volumes.nodes,
      ...otherReasons(pod),
    ],
  }
}

/** The decision of admission. A pod that has a node or the gate was admitted already: then its current state counts. */
function podDecision(pod: Pod, managers: VolumeManagerLookup, context: Context): { state: string; lines: TreeNode[] } {
  const { phase = 'Pending' } = pod.status ?? {}
  const gate = gateStateOf(pod, managers)
  if (gate) return { state: 'Gated', lines: [{ text: gate.message, reason: gate.reason }] }
  if (pod.spec.nodeName)
    return { state: phase, lines: [{ text: `on node ${pod.spec.nodeName}`, nodes: [pod.spec.nodeName] }] }
  const outcome = decidePod({
    pod,
    managers,
    whenNotReady: context.config.volumes.whenNotReady,
    mayRun: fitsNodeOf(context.store, pod.spec),
    request: 'explain',
    isHub: false,
  })
  if (outcome.kind === 'deny') {
    return { state: 'Denied', lines: outcome.errors.map(({ path, message }) => ({ text: `${path}: ${message}` })) }
  }
  const { decision = 'NotSelected', reason } = outcome.auditAnnotations ?? {}
  const asks = pod.metadata.annotations?.[VOLUMES_ANNOTATION] !== undefined
  const none = asks ? 'admission ignores it: it lacks the label lodestone.dev/inject: "true"' : 'it requests no volumes'
  return { state: decision, lines: [{ text: reason ?? none }] }
}

/** Other scheduling gates, and what the scheduler says. */
function otherReasons({ spec, status }: Pod): TreeNode[] {
  const gates = (spec.schedulingGates ?? []).map(({ name }) => ({ text: `scheduling gate ${name}`, state: 'Gated' }))
  const unscheduled = valuesAt(status, 'conditions.*').find(
    (one) => stringsAt(one, 'type')[0] === 'PodScheduled' && stringsAt(one, 'status')[0] === 'False',
  )
  const [[reason], [message]] = [stringsAt(unscheduled, 'reason'), stringsAt(unscheduled, 'message')]
  if (reason === undefined || reason === 'SchedulingGated') return gates
  return [...gates, { text: `not scheduled: ${message ?? reason}`, reason }]
}
