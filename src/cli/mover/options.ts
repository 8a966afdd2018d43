/** The options of `lodestone mover`, from arguments or the environment, also those about the server of the data. */
import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/file-error.ts'
import { isNetwork } from '../../base/net/local-address.ts'
import type { ObjectPlace } from '../../base/objects.ts'
import { parseBytes } from '../../base/quantity.ts'
import { CA_VARIABLE } from '../../core/mover-contract/contract.ts'
import type { Protocol } from '../../mover/objects/object-store.ts'
import { findProtocol, PROTOCOLS } from '../../mover/protocols.ts'
import { REQUESTER_PAYS, requestHeaderFault } from '../../s3/request-headers.ts'
import { type Arguments, type CommandIo, UsageError } from '../command.ts'

export const MOVER_OPTIONS = {
  source: {
    type: 'string',
    value: 'PLACE',
    description: 'download: s3://bucket/key, s3://bucket/prefix/, or the same with az://container; upload: a directory',
  },
  target: {
    type: 'string',
    value: 'PLACE',
    description:
      'download, delete: the directory of the dataset; upload: s3://bucket/prefix/ or az://container/prefix/',
  },
  root: {
    type: 'string',
    value: 'DIR',
    description: 'Root of the dataset, which is strictly below it; nothing outside is changed',
  },
  endpoint: {
    type: 'string',
    value: 'URL',
    description: 'The S3 server (default: AWS), or the blob service of the Azure account',
  },
  region: { type: 'string', value: 'NAME', description: 'Region of the bucket (default: that of the bucket)' },
  'local-network': {
    type: 'string',
    multiple: true,
    value: 'CIDR',
    description: 'Loopback or link-local network in which the server may be, e.g. 127.0.0.0/8 (default: none)',
  },
  'path-style': {
    type: 'string',
    value: 'true|false',
    description: 'Bucket in the path of the URL (default: true, except at AWS)',
  },
  'requester-pays': {
    type: 'string',
    value: 'true|false',
    description: 'The requester pays for a bucket with Requester Pays (default: false)',
  },
  header: {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    description: 'Header of every request to S3; may repeat',
  },
  credentials: {
    type: 'string',
    value: 'DIR',
    description:
      'Mounted Secret with the credentials, see docs/guides/movers.md (default: AWS_ACCESS_KEY_ID, AZURE_STORAGE_ACCOUNT, …)',
  },
  'ca-file': {
    type: 'string',
    value: 'FILE',
    description: 'Certificates to trust (default: MOVER_CA, else those of the system)',
  },
  match: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    mayBeEmpty: true,
    description: 'download: only objects that match the glob; may repeat',
  },
  exclude: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    mayBeEmpty: true,
    description: 'download: no object that matches the glob; may repeat',
  },
  flat: {
    type: 'string',
    value: 'true|false',
    description: 'download: every object directly in the target, without folders (default: false)',
  },
  'in-place': {
    type: 'string',
    value: 'true|false',
    description: 'download: each file appears when it is complete (default: false: all at once)',
  },
  'must-exist': {
    type: 'string',
    value: 'true|false',
    description: 'prepare: the target must exist, without a symbolic link below the root (default: false)',
  },
  verify: {
    type: 'string',
    value: 'checksum|size',
    description: 'download, upload: comparison of the data (default: checksum, if available)',
  },
  existing: {
    type: 'string',
    value: 'trust|compare|verify',
    description:
      'download: replace complete data never, if the source changed, or also if files are damaged (default: trust)',
  },
  contents: {
    type: 'string',
    value: 'record|files|checksums',
    description: 'check: the record of the download, also all files, or also their checksums (default: files)',
  },
  'delete-old': {
    type: 'string',
    value: 'TIME|all',
    description: 'check, download: delete trees that were replaced before this time (default: none)',
  },
  parallel: { type: 'string', value: 'N', description: 'Concurrent requests (default: 16; upload: 8)' },
  'part-size': { type: 'string', value: 'BYTES', description: 'Parts of large objects (default: 8Mi)' },
  retries: { type: 'string', value: 'N', description: 'Attempts of a request beyond the first (default: 8)' },
  'keep-free': {
    type: 'string',
    value: 'BYTES',
    description: 'download: free space to keep on the disk (default: 1Gi)',
  },
  watch: { type: 'string', value: 'SECONDS', description: 'upload: repeat for changes at this interval' },
  attempt: { type: 'string', value: 'N', description: 'Number of the attempt, for Events and the result (default: 1)' },
  'cancel-file': { type: 'string', value: 'FILE', description: 'Stop if this file has any content but false' },
  'termination-log': {
    type: 'string',
    value: 'FILE',
    description: 'File for the result (default: /dev/termination-log if it exists)',
  },
  kubeconfig: { type: 'string', value: 'FILE', description: 'API server for Events (default: in-cluster)' },
} as const

export type MoverOption = keyof typeof MOVER_OPTIONS

export interface MoverArguments {
  text(option: MoverOption): string | undefined
  texts(option: MoverOption): string[]
}

/** Reads options from arguments or variables: `--part-size` is MOVER_PART_SIZE. The argument wins. */
export function withEnvironment(args: Arguments, env: CommandIo['env']): MoverArguments {
  const variable = (option: MoverOption) => env[`MOVER_${option.toUpperCase().replaceAll('-', '_')}`] || undefined
  return {
    text: (option) => args.text(option) ?? variable(option),
    texts: (option) => {
      const values = args.texts(option)
      return values.length > 0 ? values : (variable(option)?.split('\n').filter(Boolean) ?? [])
    },
  }
}

/** Returns the text of an option. Throws `UsageError` without it. */
export function need(args: MoverArguments, option: MoverOption): string {
  const text = args.text(option)
  if (text) return text
  throw new UsageError(`--${option} is missing\nSee 'lodestone mover --help'.`)
}

/**
 * The URL of data in an option, and the protocol of its server.
 *
 * @param isPrefix whether a URL without a slash at the end is a prefix too. Globs divide the objects below a prefix, as in VCK.
 */
export function needPlace(
  args: MoverArguments,
  option: 'source' | 'target',
  { isPrefix = false } = {},
): { place: ObjectPlace; protocol: Protocol } {
  const text = need(args, option)
  const known = findProtocol(isPrefix && !text.endsWith('/') ? `${text}/` : text)
  if (known) return known
  // A query may contain a credential.
  const shown = text.replace(/\?.*/s, '?…')
  throw new UsageError(`--${option} ${shown}: must be ${PROTOCOLS.map(({ forms }) => forms).join('; or ')}`)
}

/** Returns the number of an option. Throws `UsageError` for another text, and outside of the bounds. */
export function wholeNumber(
  args: MoverArguments,
  option: MoverOption,
  fallback: number,
  least: number,
  most: number,
): number {
  const text = args.text(option) ?? `${fallback}`
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`--${option} ${text}: must be a whole number from ${least} to ${most}`)
}

/** Returns the bytes of an option such as `8Mi`. Throws `UsageError` for another text, and for less than `least`. */
export function bytes(args: MoverArguments, option: MoverOption, fallback: string, least: number): number {
  const text = args.text(option) ?? fallback
  const value = parseBytes(text)
  if (value !== undefined && value >= least) return value
  throw new UsageError(
    `--${option} ${text}: must be an amount of bytes like ${fallback}${least > 0 ? `, at least ${least}` : ''}`,
  )
}

/** Returns the word of an option; undefined without it. Throws `UsageError` for a word that it does not take. */
export function readChoice<Choice extends string>(
  args: MoverArguments,
  option: MoverOption,
  choices: readonly Choice[],
): Choice | undefined {
  const text = args.text(option)
  if (text === undefined) return undefined
  const choice = choices.find((known) => known === text)
  if (choice) return choice
  throw new UsageError(`--${option} ${text}: must be ${choices.join(' or ')}`)
}

/** Whether an option is `true`. Every option has a value, so that a script can parse them in pairs. */
export function isTrue(args: MoverArguments, option: MoverOption): boolean {
  return readChoice(args, option, ['true', 'false']) === 'true'
}

/** The time before which replaced trees are deleted, in ms since the epoch. */
export function deleteOldBefore(args: MoverArguments): number {
  const text = args.text('delete-old')
  if (text === undefined) return 0
  const time = text === 'all' ? Number.POSITIVE_INFINITY : Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new UsageError(`--delete-old ${text}: must be all, or a time such as 2026-01-01T00:00:00Z`)
}

/** The endpoint without a trailing slash. Throws a `UsageError` if it is not a URL, or has credentials in it. */
export function readEndpoint(args: MoverArguments, { defaultEndpoint }: Protocol): string {
  const text = args.text('endpoint') ?? defaultEndpoint ?? need(args, 'endpoint')
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') {
    return url.href.replace(/\/$/, '')
  }
  // The URL is not in the message: it may have a password.
  throw new UsageError('--endpoint: must be a URL like https://s3.example.org, without credentials in it')
}

/** The networks of this machine in which the server may be. Throws `UsageError` for another text. */
export function readNetworks(args: MoverArguments): string[] {
  const networks = args.texts('local-network')
  const wrong = networks.find((text) => !isNetwork(text))
  if (wrong === undefined) return networks
  throw new UsageError(`--local-network ${wrong}: must be a network like 127.0.0.0/8`)
}

/** The headers of every request, with names in lower case. */
export function readHeaders(args: MoverArguments): Record<string, string> {
  const headers: Record<string, string> = isTrue(args, 'requester-pays') ? { ...REQUESTER_PAYS } : {}
  for (const text of args.texts('header')) {
    const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/s.exec(text) ?? []
    const fault = requestHeaderFault(name, value)
    if (fault !== undefined) throw new UsageError(`--header: ${fault}; write NAME:VALUE`)
    headers[name.toLowerCase()] = value
  }
  return headers
}

/** The certificates to trust, as PEM: a file, or the variable MOVER_CA, which can come from a Secret. */
export function readCa(args: MoverArguments, env: CommandIo['env']): string | undefined {
  const file = args.text('ca-file')
  if (file === undefined) return env[CA_VARIABLE] || undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--ca-file ${file}: ${describeFileError(error)}`, { cause: error })
  }
}
