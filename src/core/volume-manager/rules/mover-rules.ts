/** The rules for movers: their image, and the choices of a volume for movers in a namespace that is not its own. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { subdomainProblem } from '../../../base/names.ts'
import { cut } from '../../outcome.ts'
import { problem, type Rule, type VolumeProblem } from './option-rules.ts'
import { isAtMost } from './options.ts'
import type { MoverLimits, VolumeLimits } from './settings.ts'

/** Whether a volume may have this image for its movers; undefined is the image of the configuration. */
export function allowsImage(image: string | undefined, { allowedMoverImages }: VolumeLimits): boolean {
  return image === undefined || isListed(image, allowedMoverImages)
}

/** Whether one of the patterns is the text, or a prefix of it that ends in `*`. */
function isListed(text: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern))
}

const image: Rule = ({ mover }, limits) =>
  allowsImage(mover?.image, limits)
    ? undefined
    : problem(
        'mover.image',
        'Forbidden',
        `mover.image ${mover?.image} is not allowed; remove it, or add it to volumes.allowedMoverImages of the configuration.`,
      )

/** Applies a rule only to movers in one namespace for all. */
function inSharedNamespace(rule: (config: VolumeConfig, limits: MoverLimits) => VolumeProblem | undefined): Rule {
  return (config, { movers }) => (movers.namespace === undefined ? undefined : rule(config, movers))
}

const priorityClass = inSharedNamespace(({ mover }, { namespace, allowedPriorityClassNames }) => {
  const name = mover?.priorityClassName
  if (name === undefined || isListed(name, allowedPriorityClassNames)) return undefined
  const message = `mover.priorityClassName "${cut(name)}" is not allowed for movers in the namespace ${namespace}; remove it, or add it to volumes.movers.allowedPriorityClassNames of the configuration.`
  return problem('mover.priorityClassName', 'Forbidden', message)
})

/** In its own namespace, a volume may have any ServiceAccount: a user who creates VolumeManagers may create pods too (docs/concepts/trust.md). */
const serviceAccount: Rule = ({ mover, sourceType }, { movers }) => {
  const name = mover?.serviceAccountName
  if (name === undefined) return undefined
  const field = 'mover.serviceAccountName'
  const wrong = subdomainProblem(name)
  if (wrong) return problem(field, 'Invalid', `${field} has to be the name of a ServiceAccount: ${wrong}.`)
  if (!BY_ROLE.includes(sourceType))
    return problem(field, 'Forbidden', `${field} cannot be set for ${sourceType}, which has no roles; remove it.`)
  if (movers.namespace === undefined || isListed(name, movers.allowedServiceAccountNames)) return undefined
  const message = `${field} ${name} is not allowed for movers in the namespace ${movers.namespace}; remove it, or add it to volumes.movers.allowedServiceAccountNames of the configuration.`
  return problem(field, 'Forbidden', message)
}

/** The types whose credentials can be those of a role. */
const BY_ROLE: readonly string[] = ['S3', 'S3-Dev', 'Stream']

/** A toleration without a key tolerates all taints, so only the pattern `*` allows it. */
const tolerations = inSharedNamespace(({ tolerations: given = [] }, { namespace, allowedTolerationKeys }) => {
  const index = given.findIndex(({ key = '' }) => !isListed(key, allowedTolerationKeys))
  if (index < 0) return undefined
  const key = given[index]?.key
  const what = key ? `the key "${cut(key)}"` : 'every key'
  const message = `tolerations[${index}] for ${what} is not allowed for movers in the namespace ${namespace}; remove it, or add the key to volumes.movers.allowedTolerationKeys of the configuration.`
  return problem(`tolerations[${index}].key`, 'Forbidden', message)
})

const resources = inSharedNamespace(({ mover }, { namespace, maxResources }) => {
  if (mover?.resources === undefined) return undefined
  if (Object.keys(maxResources).length === 0) {
    const message = `mover.resources is not allowed for movers in the namespace ${namespace}; remove it, or set volumes.movers.maxResources of the configuration.`
    return problem('mover.resources', 'Forbidden', message)
  }
  const { requests = {}, limits = {} } = mover.resources
  return (
    missingLimit(limits, maxResources) ??
    tooMuch('requests', requests, maxResources) ??
    tooMuch('limits', limits, maxResources)
  )
})

/** The resources of a volume replace those of the configuration, so a mover without a limit could take a whole node. */
function missingLimit(
  limits: Readonly<Record<string, string>>,
  most: MoverLimits['maxResources'],
): VolumeProblem | undefined {
  const name = Object.keys(most).find((one) => !Object.hasOwn(limits, one))
  const field = `mover.resources.limits[${name}]`
  return name === undefined
    ? undefined
    : problem(field, 'Required', `${field} has to be set, to at most ${most[name]}.`)
}

function tooMuch(
  list: 'requests' | 'limits',
  given: Readonly<Record<string, string>>,
  most: MoverLimits['maxResources'],
): VolumeProblem | undefined {
  const isAllowed = (name: string, value: string) => Object.hasOwn(most, name) && isAtMost(value, most[name] ?? '')
  const [name] = Object.entries(given).find((one) => !isAllowed(...one)) ?? []
  if (name === undefined) return undefined
  const field = `mover.resources.${list}[${cut(name)}]`
  return Object.hasOwn(most, name)
    ? problem(field, 'Invalid', `${field} has to be a quantity of at most ${most[name]} (volumes.movers.maxResources).`)
    : problem(
        field,
        'Forbidden',
        `${field} is not allowed; remove it, or add it to volumes.movers.maxResources of the configuration.`,
      )
}

/** The rules for the movers of every source type. */
export const MOVER_RULES: readonly Rule[] = [image, priorityClass, serviceAccount, tolerations, resources]
