import { testConnector } from '../../../../test/conformance.ts'
import { digitalOceanFirewalls } from './digitalocean-stand-in.ts'

testConnector(digitalOceanFirewalls)
