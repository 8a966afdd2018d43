/** `lodestone certs`: creates, shows and renews the serving certificate. */
import { X509Certificate } from 'node:crypto'
import { openServingCertificates, openStorage, servingHosts } from '../app/certificates.ts'
import { type Config, loadConfig } from '../app/config/config.ts'
import { listNames } from '../base/names.ts'
import { normalizeHosts } from '../tls/hosts.ts'
import { openCertificates } from '../tls/rotation.ts'
import type { CertificateObserver, CertificateSource } from '../tls/source.ts'
import { parseCertificates } from '../tls/x509.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from './command.ts'
import { CONNECTION_OPTIONS, connect, connectionOptions } from './options/connect.ts'
import { configOption } from './options/read-config.ts'

export const certs: Command = {
  usage: '[--directory DIR] [--host NAME]… [--renew]',
  options: {
    ...configOption('Configuration file: storage and hosts of the certificates'),
    directory: {
      type: 'string',
      short: 'd',
      value: 'DIR',
      description: 'Folder of the certificates (default: certs/dev)',
    },
    host: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      description: 'Further DNS name or IP address in the certificate, until the server renews it',
    },
    ...connectionOptions(
      'Cluster with the Secret of the certificates (default: $KUBECONFIG, in-cluster, ~/.kube/config)',
    ),
    renew: { type: 'boolean', description: 'Publish a new CA now; it signs after callers trust it' },
  },
  examples: [
    { command: 'lodestone certs', does: 'Create missing certificates, and show all' },
    { command: 'lodestone certs --host hub.example.org', does: 'Add a host name' },
    { command: 'lodestone certs --renew', does: 'Start to replace the CA; see docs/guides/certificates.md' },
  ],
  run: runCerts,
}

const MADE = {
  'next CA': 'a CA, trusted now, signing later',
  'signing CA': 'the signing CA',
  'serving certificate': 'the serving certificate',
} as const

async function runCerts(args: Arguments, io: CommandIo): Promise<number> {
  const stored = certsConfig(args)
  const hosts = hostArguments(args)
  const config = withHosts(stored, hosts)
  const { source, directory } = config.certificates
  const made: string[] = []
  const observer: CertificateObserver = {
    renewed: (certificate, reason) => made.push(`${MADE[certificate]} (${reason})`),
  }
  const renewAuthority = args.flag('renew')
  if (source === 'files' && renewAuthority) {
    throw new UsageError(
      `certificates.source is files: Lodestone does not renew ${directory}; renew the files where they were issued`,
    )
  }
  if (source === 'files' && args.text('host') !== undefined) {
    throw new UsageError(
      `certificates.source is files: Lodestone does not change ${directory}; issue the files for this host`,
    )
  }
  for (const option of Object.keys(CONNECTION_OPTIONS)) {
    if (source !== 'secret' && args.text(option) !== undefined) {
      throw new UsageError(`--${option} needs certificates.source: secret in the configuration`)
    }
  }
  const connection = source === 'secret' ? await connect(args, io) : undefined
  try {
    const certificates =
      source === 'files'
        ? await openServingCertificates(config, observer, io.now)
        : await openCertificates({
            storage: await openStorage(config, connection),
            hosts: servingHosts(config),
            now: io.now,
            observer,
            renewAuthority,
          })
    certificates.stop()
    io.stdout.write(report(config, certificates.current(), made))
    const passing = hostsOnce(hosts, stored)
    if (passing.length > 0) io.stderr.write(`lodestone certs: ${describeHostsOnce(passing)}\n`)
    return 0
  } finally {
    await connection?.close()
  }
}

function report({ certificates }: Config, current: ReturnType<CertificateSource['current']>, made: string[]): string {
  const { source, directory, secret } = certificates
  const { certPem, caBundlePem } = current
  const leaf = new X509Certificate(certPem)
  const authorities = caBundlePem === undefined ? [] : parseCertificates(caBundlePem)
  return [
    `Stored in    ${source === 'secret' ? `Secret ${secret.namespace}/${secret.name}` : directory}`,
    `Certificate  ${oneLine(leaf.subject)}, until ${leaf.validTo}`,
    `Hosts        ${leaf.subjectAltName?.replaceAll(/(DNS|IP Address):/g, '') ?? ''}`,
    ...authorities.map(({ x509 }) => `Trusted CA   ${oneLine(x509.subject)}, until ${x509.validTo}`),
    ...made.map((line) => `Created      ${line}`),
    '',
  ].join('\n')
}

function certsConfig(args: Arguments): Config {
  const config = loadConfig(args.text('config'))
  const directory = args.text('directory')
  return {
    ...config,
    certificates: {
      ...config.certificates,
      ...(directory === undefined ? {} : { source: 'directory', directory }),
    },
  }
}

function withHosts(config: Config, hosts: readonly string[]): Config {
  const { certificates } = config
  return { ...config, certificates: { ...certificates, hosts: [...certificates.hosts, ...hosts] } }
}

function describeHostsOnce(hosts: readonly string[]): string {
  return `the server renews the certificate without ${listNames(hosts)}; to keep hosts, add them to certificates.hosts of its configuration`
}

/** Returns the given hosts that the certificate loses when a server with this configuration renews it. */
function hostsOnce(hosts: readonly string[], config: Config): string[] {
  const kept = normalizeHosts(servingHosts(config))
  return hosts.filter((host) => !kept.includes(host) && !kept.includes(host.replace(/^[^.]+/, '*')))
}

function hostArguments(args: Arguments): string[] {
  const hosts = args.texts('host')
  try {
    return hosts.length === 0 ? [] : normalizeHosts(hosts)
  } catch (error) {
    throw new UsageError(`--host: ${(error as Error).message}`, { cause: error })
  }
}

/** Joins the lines of a name, which OpenSSL prints on several lines. */
function oneLine(name: string): string {
  return name.replaceAll('\n', ', ')
}
