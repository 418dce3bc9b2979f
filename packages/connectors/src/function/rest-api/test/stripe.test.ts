import { testConnector } from '../../../../test/conformance.ts'
import { stripeProducts } from './stripe-stand-in.ts'

testConnector(stripeProducts)
