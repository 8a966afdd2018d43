/** The validation rules of single options. Their messages are those of VCK, where VCK has the rule. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { FieldErrorCode } from '../../../base/field-errors.ts'
import { subdomainProblem } from '../../../base/names.ts'
import { localHostFault } from '../../../base/net/local-address.ts'
import { parseDuration } from '../../../base/time/duration.ts'
import { isBucketName } from '../../../s3/address.ts'
import { cut } from '../../outcome.ts'
import { MAX_SHARDS, parseDistribution } from './distribution.ts'
import { type HostPathUse, hostPathFault, isPlainPath, isPlainRelativePath } from './host-paths.ts'
import { DEFAULT_DATA_PATH } from './names.ts'
import { endpointHost, isEndpoint, MAX_GLOBS, parseBoolean, parseGlobs, parseSourceUrl } from './options.ts'
import type { VolumeLimits } from './settings.ts'

export interface VolumeProblem {
  /** The path below the volume, e.g. `options.sourceURL`. */
  field: string
  code: FieldErrorCode
  /** As in VCK's validation webhook (its branch `validation`), with a full stop. */
  message: string
}

/** Checks one aspect of a volume; undefined when it is valid. */
export type Rule = (config: VolumeConfig, limits: VolumeLimits) => VolumeProblem | undefined

export function problem(field: string, code: FieldErrorCode, message: string): VolumeProblem {
  return { field, code, message }
}

/** The message for a status, which has no full stop. Most of them are those of VCK's handlers. */
export function statusMessage({ message }: VolumeProblem): string {
  return message.replace(/\.$/, '')
}

/** Requires an option that is not empty. */
export function required(option: string): Rule {
  return ({ options = {} }) =>
    options[option] ? undefined : problem(`options.${option}`, 'Required', `${option} has to be set in options.`)
}

/** Checks the value of an option that is set. */
export function whenSet(
  option: string,
  check: (value: string, config: VolumeConfig, limits: VolumeLimits) => string | undefined,
): Rule {
  return (config, limits) => {
    const value = config.options?.[option]
    const message = value ? check(value, config, limits) : undefined
    return message === undefined ? undefined : problem(`options.${option}`, 'Invalid', message)
  }
}

/** Requires the option that names the Secret. An empty value means that the data is public. */
export function credentials(option: string): Rule {
  return ({ options = {} }) =>
    options[option] === undefined
      ? problem(`options.${option}`, 'Required', `${option} key has to be set in options.`)
      : undefined
}

/** Requires the name of a Secret, without a namespace: a volume uses no Secret of another namespace. */
export function secretName(option: string): Rule {
  return whenSet(option, (name) => {
    const wrong = subdomainProblem(name)
    return wrong && `${option} has to be the name of a Secret in the namespace of the VolumeManager: ${wrong}.`
  })
}

export const sourceUrl: Rule = whenSet('sourceURL', (url, { mover }) => {
  const source = parseSourceUrl(url)
  if (!source || !isSafeKey(source.key)) return 'sourceURL has to be a valid URL, e.g. s3://bucket/folder/.'
  // A mover of another image may read the host as a server.
  return mover?.image !== undefined || isBucketName(source.bucket)
    ? undefined
    : `sourceURL has to have the name of a bucket: ${source.bucket} must have 3 to 255 letters, digits, "-", "." and "_", and begin and end with a letter or digit.`
})

/** Returns the rule for an option that is the URL of a server, with an example for its message. */
export function endpoint(option: string, example = 'https://s3.amazonaws.com'): Rule {
  return whenSet(option, (url, _config, limits) =>
    isEndpoint(url)
      ? hostMessage(option, endpointHost(url), limits)
      : `${option} has to be a valid URL, e.g. ${example}.`,
  )
}

/** An option of older manifests: the host and the gRPC port of Pachyderm. */
export const pachydermAddress: Rule = whenSet('pachydermServiceAddress', (address, _config, limits) =>
  isEndpoint(`http://${address}`) && !address.includes('/')
    ? hostMessage('pachydermServiceAddress', endpointHost(`http://${address}`), limits)
    : 'pachydermServiceAddress has to be a host and a port, e.g. pachd.default.svc:650.',
)

/** Lodestone's mover reads the host of the URL as the bucket. A mover of another image may connect to it. */
export const sourceHost: Rule = ({ options = {}, mover }, { allowedLocalNetworks }) => {
  const { sourceURL = '' } = options
  if (mover?.image === undefined || /^s3:/i.test(sourceURL)) return undefined
  const fault = localHostFault(parseSourceUrl(sourceURL)?.bucket.replace(/:\d*$/, '') ?? '', allowedLocalNetworks)
  return fault === undefined ? undefined : problem('options.sourceURL', 'Forbidden', notAllowed('sourceURL', fault))
}

/** Rejects loopback and link-local hosts: a mover connects from a node, and tenants must not reach such addresses of nodes. */
export function hostMessage(option: string, host: string, { allowedLocalNetworks }: VolumeLimits): string | undefined {
  const fault = localHostFault(host, allowedLocalNetworks)
  return fault && notAllowed(option, fault)
}

function notAllowed(option: string, fault: string): string {
  return `${option} is not allowed: ${fault}; use another host, or add its network to volumes.allowedLocalNetworks of the configuration.`
}

/** The names of AWS regions. Other servers use the same form. */
export const region: Rule = whenSet('region', (name) =>
  /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/.test(name)
    ? undefined
    : 'region has to be the name of a region, e.g. eu-central-1.',
)

/** How the mover verifies the data (docs/guides/movers.md). */
export const verify: Rule = whenSet('verify', (level) =>
  level === 'checksum' || level === 'size' ? undefined : 'verify has to be checksum or size.',
)

export const timeout: Rule = ({ options = {} }) => {
  const text = options['timeoutForDataDownload']
  const ms = text === undefined ? 1 : parseDuration(text)
  if (ms !== undefined && ms > 0) return undefined
  return problem(
    'options.timeoutForDataDownload',
    'Invalid',
    'timeoutForDataDownload has the incorrect format. Write e.g. 5m or 1h30m.',
  )
}

/** Checks an option that is a boolean. */
export function boolean(option: string): Rule {
  return whenSet(option, (text) =>
    parseBoolean(text) === undefined ? `${option} has to be true or false.` : undefined,
  )
}

export const flatten: Rule = boolean('flatten')

export const exclude: Rule = whenSet('exclude', (text) =>
  parseGlobs(text) === undefined
    ? `exclude has to be a glob, or a JSON list of at most ${MAX_GLOBS} globs.`
    : undefined,
)

/** The status has patterns and paths, with these limits in its schema. A path gets the name of the directory of its volume. */
const MAX_PATTERN_LENGTH = 1024
const MAX_PATH_LENGTH = 4000

export const distribution: Rule = whenSet('distributionStrategy', (text, { replicas }) => {
  const shards = parseDistribution(text)
  if (!shards || shards.size === 0) {
    return `invalid distributionStrategy [${cut(text)}] specified, it must be a map[string]int`
  }
  if (shards.size > MAX_SHARDS)
    return `distributionStrategy has ${shards.size} shards: it can have at most ${MAX_SHARDS}.`
  const long = [...shards.keys()].find((pattern) => pattern.length > MAX_PATTERN_LENGTH)
  if (long !== undefined)
    return `distributionStrategy has the pattern ${cut(long)}: it can have at most ${MAX_PATTERN_LENGTH} characters.`
  const total = [...shards.values()].reduce((sum, count) => sum + count, 0)
  return total === replicas
    ? undefined
    : `total number of replicas: [${total}] in distributionStrategy [${cut(text)}], does not match number of replicas provided: [${replicas}]`
})

/**
 * Checks a directory of nodes: movers write to it (`data`), or pods mount it (`local`). Without the option, VCK's default applies to
 * `data`.
 */
export function hostDirectory(option: string, use: HostPathUse): Rule {
  return (config, limits) => {
    const given = config.options?.[option]
    const path = given || (use === 'data' ? DEFAULT_DATA_PATH : '')
    const field = `options.${option}`
    if (path.length > MAX_PATH_LENGTH)
      return problem(field, 'TooLong', `${option} can have at most ${MAX_PATH_LENGTH} characters.`)
    const fault = path && hostPathFault(path, use, limits)
    if (!fault) return undefined
    const { allowedRoots, localRoots } = limits
    const forbidden = (message: string) => problem(field, 'Forbidden', message)
    switch (fault) {
      case 'NotPlain':
        return problem(field, 'Invalid', `${option} has to be an absolute path without "." and "..".`)
      case 'OfVolume':
        return forbidden(`${option} cannot be inside the directory of a volume (vck-resource-…).`)
      case 'NoRoot':
        return forbidden(`${option} has to be one of ${localRoots.join(', ')}.`)
      case 'NotBelow':
        return use === 'data' ? outsideOf(allowedRoots) : forbidden(outsideOfLocal(option, path, localRoots))
    }

    function outsideOf(roots: readonly string[]) {
      const below = `has to be below ${roots.join(' or ')}.`
      if (given) return forbidden(`${option} ${below}`)
      const unset = `${option} has to be set in options: its default ${path} is not allowed. It ${below}`
      return problem(field, 'Required', unset)
    }
  }
}

function outsideOfLocal(option: string, path: string, roots: readonly string[]): string {
  return roots.length > 0
    ? `${option} has to be below ${roots.join(' or ')}.`
    : `${option} ${path} is not allowed; add a directory for Local volumes to volumes.localRoots of the configuration.`
}

export const absolutePath: Rule = whenSet('path', (path) =>
  isPlainPath(path) || path === '/' ? undefined : 'path has to be an absolute path without "." and "..".',
)

export const outputPath: Rule = whenSet('outputPath', (path) =>
  isPlainRelativePath(path) ? undefined : 'outputPath has to be a path inside the volume, without "." and "..".',
)

/** The length of the longest IPv6 address. The pattern would be slow for longer text. */
const MAX_HOST_LENGTH = 45
const IP = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)$/

/** VCK's webhook accepts IP addresses only. Lodestone accepts host names too. */
export const server: Rule = whenSet('server', (host, _config, limits) =>
  (host.length <= MAX_HOST_LENGTH && IP.test(host)) || !subdomainProblem(host)
    ? hostMessage('server', host, limits)
    : 'server is neither an IP address nor a host name.',
)

/** Rejects options that name a namespace: a volume refers only to objects in the namespace of its VolumeManager. */
export const ownNamespace: Rule = ({ options = {} }) => {
  const option = Object.keys(options).find(namesNamespace)
  return option === undefined
    ? undefined
    : problem(`options.${option}`, 'Forbidden', `${option} cannot be set; a volume refers only to its own namespace.`)
}

/** Whether an option names a namespace. */
export function namesNamespace(option: string): boolean {
  return /namespace$/i.test(option)
}

/** A key with `..` would be written outside the volume. */
export function isSafeKey(key: string): boolean {
  return !key.split('/').some((part) => part === '.' || part === '..') && !/\p{Cc}/u.test(key)
}
