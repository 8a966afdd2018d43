/** Opens the access that the options of `lodestone ui` name, with the certificate of its server. */
import { defined } from '../../../base/json.ts'
import { printable } from '../../../base/printable.ts'
import { systemClock } from '../../../base/time/clock.ts'
import { RepeatLimit } from '../../../base/time/repeat-limit.ts'
import { UserError } from '../../../base/user-error.ts'
import { maySelf } from '../../../store/cluster/access-review.ts'
import type { ApiConnection } from '../../../store/cluster/api-connection.ts'
import { openCertificateFiles } from '../../../tls/files.ts'
import { openMemoryStorage } from '../../../tls/memory-storage.ts'
import { openCertificates } from '../../../tls/rotation.ts'
import type { CertificateSource } from '../../../tls/source.ts'
import { type CommandIo, UsageError } from '../../command.ts'
import type { Access } from './access.ts'
import { PORT } from './hosts.ts'
import { openLinkAccess } from './link-access.ts'
import { reviewedUsers } from './reviewed-users.ts'
import { openTokenAccess } from './token-access.ts'
import type { Viewer } from './viewer.ts'

export interface AccessOptions {
  login: 'link' | 'token'
  /** The address to listen on. */
  address: string
  /** Further values of the header `Host`. */
  hosts: readonly string[]
  /** A folder with `tls.crt` and `tls.key`. */
  tls: string | undefined
}

/** What the access needs besides its options. */
interface AccessInput {
  connection: ApiConnection | undefined
  /** The reader of a link. */
  owner: Viewer
}

export interface OpenAccess {
  access: Access
  /** Absent for a server without TLS, which only this machine reaches. */
  certificates?: CertificateSource
  /** Returns the address for the user when the server listens on this port, and a hint about it. */
  begin(port: number): { address: string; hint: string }
}

/** A link that was used is opened again by each reload of a browser. */
const NEW_LINK = 'the link was used; open this one'

/** Throws `UserError` if the access is not possible: a folder has no tokens, and the account of the page needs rights. */
export async function openAccess(
  options: AccessOptions,
  { connection, owner }: AccessInput,
  io: CommandIo,
): Promise<OpenAccess> {
  return options.login === 'link' ? openLink(options, owner, io) : openTokens(options, connection, io)
}

function openLink({ hosts }: AccessOptions, owner: Viewer, io: CommandIo): OpenAccess {
  const repeats = new RepeatLimit()
  const access = openLinkAccess({
    hosts,
    owner,
    onUsedLink: (makeLink) => {
      if (repeats.take(NEW_LINK, io.now())) io.stderr.write(`lodestone ui: ${NEW_LINK}: ${makeLink()}\n`)
    },
  })
  const begin = (port: number) => ({ address: access.begin(port), hint: 'The link works once.' })
  return { access, begin }
}

async function openTokens(
  { hosts, address, tls }: AccessOptions,
  connection: ApiConnection | undefined,
  io: CommandIo,
): Promise<OpenAccess> {
  if (!connection) throw new UsageError('--login token asks an API server who its readers are; a folder has none')
  await checkRights(connection, io.signal)
  const repeats = new RepeatLimit()
  const report = (problem: string) => {
    if (repeats.take(problem, io.now())) io.stderr.write(`lodestone ui: ${printable(problem)}\n`)
  }
  const observer = { failed: ({ message }: Error) => report(`certificate: ${message}`) }
  const own = hostOfAddress(address)
  const isEvery = EVERY_ADDRESS.has(own)
  // A name could lead to this server by DNS rebinding; an address could not.
  const accepted = isEvery ? hosts : [...hosts, own]
  const names = [...new Set([...accepted.map(certificateName), 'localhost', '127.0.0.1', '::1'])]
  const certificates = await (tls === undefined
    ? openCertificates({ storage: openMemoryStorage(), hosts: names, now: io.now, observer })
    : openCertificateFiles({ folder: tls, now: io.now, observer }))
  return {
    access: openTokenAccess({
      users: reviewedUsers(connection, systemClock, report),
      hosts: accepted,
      clock: systemClock,
    }),
    certificates,
    begin: (port) => ({
      address: `https://${withPort(isEvery ? (hosts[0] ?? 'localhost') : own, port)}`,
      hint: `Readers log in with a token of ${connection.server}.`,
    }),
  }
}

/** The addresses that mean every address of the machine, as browsers write them. A browser cannot open them. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '[::]'])

/** Returns an IP address as browsers write it in the header `Host`. */
function hostOfAddress(address: string): string {
  const [withoutZone = ''] = address.split('%')
  return new URL(`https://${withoutZone.includes(':') ? `[${withoutZone}]` : withoutZone}`).hostname
}

const REVIEWS = [
  { group: 'authentication.k8s.io', resource: 'tokenreviews' },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
]

async function checkRights(connection: ApiConnection, signal: AbortSignal): Promise<void> {
  for (const { group, resource } of REVIEWS) {
    if (!(await maySelf(connection, defined({ verb: 'create', group, resource }), signal))) {
      throw new UserError(
        `the account of the page may not create ${resource}.${group}; apply its roles: lodestone manifests page`,
      )
    }
  }
}

/** Returns the host with its port, or with this one. */
function withPort(host: string, port: number): string {
  return PORT.test(host) ? host : `${host}:${port}`
}

/** Returns the host for a certificate, without the brackets of an address. */
function certificateName(host: string): string {
  return host.replace(PORT, '').replace(/^\[|\]$/g, '')
}
