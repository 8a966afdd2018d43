/** Reads the options of `lodestone mover` about the server: its URL, networks, certificates and headers. */
import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/file-error.ts'
import { isNetwork } from '../../base/net/local-address.ts'
import { CA_VARIABLE } from '../../core/mover-contract/contract.ts'
import type { Protocol } from '../../mover/objects/object-store.ts'
import { REQUESTER_PAYS, requestHeaderFault } from '../../s3/request-headers.ts'
import { type CommandIo, UsageError } from '../command.ts'
import { isTrue, type MoverArguments, need } from './options.ts'

/** The endpoint without a trailing slash. Throws a `UsageError` if it is not a URL, or has credentials in it. */
export function endpointOf(args: MoverArguments, { defaultEndpoint }: Protocol): string {
  const text = args.text('endpoint') ?? defaultEndpoint ?? need(args, 'endpoint')
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') {
    return url.href.replace(/\/$/, '')
  }
  // The URL is not in the message: it may have a password.
  throw new UsageError('--endpoint: must be a URL like https://s3.example.org, without credentials in it')
}

export function networksOf(args: MoverArguments): string[] {
  const networks = args.texts('local-network')
  const wrong = networks.find((text) => !isNetwork(text))
  if (wrong === undefined) return networks
  throw new UsageError(`--local-network ${wrong}: must be a network like 127.0.0.0/8`)
}

/** The headers of every request, with names in lower case. */
export function headersOf(args: MoverArguments): Record<string, string> {
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
export function caOf(args: MoverArguments, env: CommandIo['env']): string | undefined {
  const file = args.text('ca-file')
  if (file === undefined) return env[CA_VARIABLE] || undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--ca-file ${file}: ${describeFileError(error)}`, { cause: error })
  }
}
