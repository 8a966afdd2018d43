/**
 * The rules of the API server for parts of a Pod that users write: tolerations, resources and the image (kubernetes, pkg/apis/core/validation).
 * It would reject each mover with an invalid one.
 */
import type { Toleration } from '../../../api/node.ts'
import type { ResourceRequirements } from '../../../api/volume-manager.ts'
import { isLabelKey, isLabelValue } from '../../../base/names.ts'
import { cut } from '../../outcome.ts'
import { problem, type Rule } from './option-rules.ts'
import { isAtMost, isQuantity, parseQuantity } from './options.ts'

/** A field of the Pod, and why it is invalid. */
export interface PodFault {
  field: string
  message: string
}

const EFFECTS: readonly string[] = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** The first fault of a toleration. An empty field counts as absent. */
export function tolerationFault({
  key = '',
  operator = '',
  value = '',
  effect = '',
  tolerationSeconds,
}: Toleration): PodFault | undefined {
  if (!['', 'Equal', 'Exists'].includes(operator)) return { field: 'operator', message: 'must be Exists or Equal' }
  if (key === '' && operator !== 'Exists') return { field: 'operator', message: 'must be Exists without a key' }
  if (key !== '' && !isLabelKey(key)) return { field: 'key', message: 'must be the key of a taint' }
  if (operator === 'Exists' && value !== '') return { field: 'value', message: 'must be empty for Exists' }
  if (!isLabelValue(value)) return { field: 'value', message: 'must be the value of a taint' }
  if (!EFFECTS.includes(effect))
    return { field: 'effect', message: 'must be NoSchedule, PreferNoSchedule or NoExecute' }
  return tolerationSeconds !== undefined && effect !== 'NoExecute'
    ? { field: 'effect', message: 'must be NoExecute with tolerationSeconds' }
    : undefined
}

/** The resources of a container without a domain. All others are extended resources, such as `nvidia.com/gpu`. */
const STANDARD_RESOURCE = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/
/** Of these, a node gives no container more than it requests. */
const OVERCOMMITTED = /^(cpu|memory|ephemeral-storage)$/

/** The first fault of the resources of a container. */
export function resourceFault({ requests = {}, limits = {} }: ResourceRequirements): PodFault | undefined {
  return amountFault('requests', requests) ?? amountFault('limits', limits) ?? requestFault(requests, limits)
}

type Amounts = Readonly<Record<string, string>>

function amountFault(list: 'requests' | 'limits', amounts: Amounts): PodFault | undefined {
  for (const [name, amount] of Object.entries(amounts)) {
    const field = `${list}[${cut(name)}]`
    if (!isResource(name)) return { field, message: 'must be cpu, memory, ephemeral-storage or a name with a domain' }
    if (!isQuantity(amount)) return { field, message: 'must be a quantity, e.g. 500m or 1Gi' }
    if (name.includes('/') && !isWhole(amount)) return { field, message: 'must be an integer' }
  }
  return undefined
}

function isResource(name: string): boolean {
  return isLabelKey(name) && (name.includes('/') || STANDARD_RESOURCE.test(name))
}

function isWhole(amount: string): boolean {
  return isAtMost(String(parseQuantity(amount)), amount)
}

function requestFault(requests: Amounts, limits: Amounts): PodFault | undefined {
  for (const [name, amount] of Object.entries(requests)) {
    const most = Object.hasOwn(limits, name) ? limits[name] : undefined
    const field = `requests[${cut(name)}]`
    if (most !== undefined && !isAtMost(amount, most)) return { field, message: `must be at most its limit of ${most}` }
    const isAll = most !== undefined && isAtMost(most, amount)
    if (!OVERCOMMITTED.test(name) && !isAll) return { field, message: 'must be equal to its limit' }
  }
  return undefined
}

const tolerations: Rule = ({ tolerations: given = [] }) => {
  const faults = given.map(tolerationFault)
  const index = faults.findIndex((fault) => fault !== undefined)
  return fieldProblem(`tolerations[${index}]`, faults[index])
}

const resources: Rule = ({ mover }) => fieldProblem('mover.resources', resourceFault(mover?.resources ?? {}))

const image: Rule = ({ mover }) => {
  const name = mover?.image
  return name === undefined || (name !== '' && name.trim() === name)
    ? undefined
    : problem('mover.image', 'Invalid', 'mover.image has to be the name of an image, without white space around it.')
}

function fieldProblem(parent: string, fault: PodFault | undefined) {
  return fault && problem(`${parent}.${fault.field}`, 'Invalid', `${parent}.${fault.field} ${fault.message}.`)
}

/** The rules for the Pods of every source type. */
export const POD_RULES: readonly Rule[] = [tolerations, resources, image]
